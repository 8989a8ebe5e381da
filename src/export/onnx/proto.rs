//! The subset of ONNX's protobuf messages that a network needs, with the numbers and names of `onnx.proto`
//! (<https://github.com/onnx/onnx/blob/v1.12.0/onnx/onnx.proto>, IR version 8).
//!
//! The encoding is that of proto2, as written by the Python package `onnx`, because some readers understand no other: a
//! number that is set is written even if it is 0 (`required`), and lists of numbers are not packed. The fields
//! omitted here are optional in a file. Only one member of a `oneof` may be set.

use prost::Message;

/// `TensorProto.DataType.FLOAT`
pub(super) const FLOAT: i32 = 1;
/// `TensorProto.DataType.INT64`
pub(super) const INT64: i32 = 7;
/// `AttributeProto.AttributeType.INT`
pub(super) const INT: i32 = 2;
/// `AttributeProto.AttributeType.INTS`
pub(super) const INTS: i32 = 7;

/// An ONNX file.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ModelProto {
    #[prost(int64, required, tag = "1")]
    pub ir_version: i64,
    #[prost(string, required, tag = "2")]
    pub producer_name: String,
    #[prost(string, required, tag = "3")]
    pub producer_version: String,
    #[prost(int64, required, tag = "5")]
    pub model_version: i64,
    #[prost(string, required, tag = "6")]
    pub doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSetIdProto>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<StringStringEntryProto>,
}

/// The operators that a file uses, as a version of the default domain.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSetIdProto {
    /// Empty for the default domain.
    #[prost(string, required, tag = "1")]
    pub domain: String,
    #[prost(int64, required, tag = "2")]
    pub version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct StringStringEntryProto {
    #[prost(string, required, tag = "1")]
    pub key: String,
    #[prost(string, required, tag = "2")]
    pub value: String,
}

/// Nodes in topological order.
#[derive(Clone, PartialEq, Message)]
pub(super) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<NodeProto>,
    #[prost(string, required, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfoProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, required, tag = "3")]
    pub name: String,
    #[prost(string, required, tag = "4")]
    pub op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<AttributeProto>,
}

/// One integer, `i`, or several, `ints`; `kind` (`type` in the specification) says which.
#[derive(Clone, PartialEq, Message)]
pub(super) struct AttributeProto {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(int64, optional, tag = "3")]
    pub i: Option<i64>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(int32, required, tag = "20")]
    pub kind: i32,
}

/// Numbers in row-major order; `raw_data` is little endian.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, required, tag = "2")]
    pub data_type: i32,
    #[prost(string, required, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", required, tag = "9")]
    pub raw_data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfoProto {
    #[prost(string, required, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<TypeProto>,
    #[prost(string, required, tag = "3")]
    pub doc_string: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorType>,
}

/// `TypeProto.Tensor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, required, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

/// `TensorShapeProto.Dimension`: a `oneof`, either a size or the name of an unknown size.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(int64, optional, tag = "1")]
    pub dim_value: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub dim_param: Option<String>,
}
