//! The network as an ONNX file (opset 17, IR version 8): the layers of its [`Weights`], in f32.
//!
//! Input: `planes` `[batch, planes, height, width]`. Outputs: `policy` `[batch, actions]`, the logits of all actions,
//! to be masked to the legal ones before a softmax; and `wdl` `[batch, 3]`, the probabilities of win, draw and loss
//! for the player to move. The batch size is free. Batch norm is folded into the convolutions. Tensors are named
//! after their layers (`blocks.0.first.weight`), nodes after their outputs. The entries of `metadata` are the model's
//! metadata.
//! Operators: <https://onnx.ai/onnx/operators/>.

mod proto;

use std::collections::BTreeMap;

use prost::Message;

use self::proto::{
    AttributeProto, Dimension, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, StringStringEntryProto,
    TensorProto, TensorShapeProto, TensorType, TypeProto, ValueInfoProto,
};
use super::metadata::{self, Entries};
use super::safetensors;
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::game::Shape;
use crate::net::layers::{Conv, Layer, Layers, Linear, Weighted};
use crate::net::weights::Weights;

const IR_VERSION: i64 = 8;
const OPSET: i64 = 17;
const INPUT: &str = "planes";
const OUTPUTS: [&str; 2] = ["policy", "wdl"];
/// The name of the free dimension.
const BATCH: &str = "batch";

/// The metadata of an ONNX file written by Petteia; `None` for other files.
pub fn read_metadata(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let model = ModelProto::decode(bytes).ok()?;
    let entries: BTreeMap<_, _> =
        model.metadata_props.into_iter().map(|entry| (entry.key, entry.value)).collect();
    entries.contains_key("petteia").then_some(entries)
}

/// The bytes of the ONNX file.
pub fn file(checkpoint: &Checkpoint) -> Result<Vec<u8>> {
    let manifest = &checkpoint.manifest;
    let (network, weights) = safetensors::network(checkpoint)?;
    let entries = metadata::entries(manifest, safetensors::split(&checkpoint.path, &weights)?.1);
    let model = ModelProto {
        ir_version: IR_VERSION,
        producer_name: env!("CARGO_PKG_NAME").into(),
        producer_version: env!("CARGO_PKG_VERSION").into(),
        model_version: manifest.generation as i64,
        doc_string: format!(
            "Policy and value of positions of {}, learned from self-play. The metadata says the meaning of input and \
             outputs and where the network comes from.",
            manifest.game.id
        ),
        graph: Some(graph(&network.weights(), &manifest.game.id, &entries)),
        opset_import: vec![OperatorSetIdProto { version: OPSET }],
        metadata_props: entries
            .iter()
            .map(|(key, value)| StringStringEntryProto { key: key.to_string(), value: value.clone() })
            .collect(),
    };
    Ok(model.encode_to_vec())
}

fn graph(weights: &Weights, name: &str, entries: &Entries) -> GraphProto {
    let Shape { planes, height, width, actions } = weights.layers.shape;
    let mut graph = Builder { weights, nodes: Vec::new(), initializers: Vec::new() };
    graph.network();
    let value = |name: &str, dims: &[usize]| {
        let batch = Dimension { dim_value: None, dim_param: Some(BATCH.into()) };
        let fixed = dims.iter().map(|&dim| Dimension { dim_value: Some(dim as i64), dim_param: None });
        let shape = TensorShapeProto { dim: [batch].into_iter().chain(fixed).collect() };
        ValueInfoProto {
            name: name.into(),
            r#type: Some(TypeProto {
                tensor_type: Some(TensorType { elem_type: proto::FLOAT, shape: Some(shape) }),
            }),
            doc_string: entries[name].clone(),
        }
    };
    GraphProto {
        node: graph.nodes,
        name: name.into(),
        initializer: graph.initializers,
        input: vec![value(INPUT, &[planes, height, width])],
        output: vec![value(OUTPUTS[0], &[actions]), value(OUTPUTS[1], &[3])],
    }
}

/// A graph under construction. Each method adds nodes and returns the name of the value that they compute.
struct Builder<'a> {
    weights: &'a Weights,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
}

impl<'a> Builder<'a> {
    fn network(&mut self) {
        let Layers { tower, policy, logits, value, .. } = &self.weights.layers;
        let x = self.along(tower, INPUT);
        let p = self.along(policy, &x);
        // even a single part is concatenated, to give the output its name
        let logits: Vec<String> = logits.iter().map(|part| self.along(part, &p)).collect();
        let logits: Vec<&str> = logits.iter().map(String::as_str).collect();
        self.node("Concat", OUTPUTS[0], &logits, vec![int("axis", 1)]);
        let v = self.along(value, &x);
        self.node("Softmax", OUTPUTS[1], &[&v], vec![int("axis", 1)]);
    }

    fn along(&mut self, layers: &'a [Layer], input: &str) -> String {
        // layers without a name are named after the layer before
        let mut name = input;
        layers.iter().fold(input.to_string(), |x, layer| match layer {
            Layer::Conv(conv) => {
                name = &conv.name;
                self.conv(conv, &x)
            }
            Layer::Block { name: block, first, second } => {
                let y = self.conv(first, &x);
                let y = self.conv(second, &y);
                let sum = self.node("Add", &format!("{block}.add"), &[&y, &x], vec![]);
                self.relu(block, &sum)
            }
            Layer::Global(linear) => {
                name = &linear.name;
                self.global(linear, &x)
            }
            Layer::Ones => self.ones(&format!("{name}.ones"), &x),
            // `[batch, channels, height, width]` to `[batch, channels * height * width]`
            Layer::Flatten => self.node("Flatten", &format!("{name}.flatten"), &[&x], vec![int("axis", 1)]),
            Layer::Pool => self.pool(name, &x),
            Layer::Linear(linear) => {
                name = &linear.name;
                self.linear(linear, &x)
            }
        })
    }

    fn conv(&mut self, conv: &Conv, input: &str) -> String {
        let &Conv { ref name, kernel, relu, .. } = conv;
        let [weight, bias] = self.tensors(Weighted::Conv(conv));
        let attributes = vec![ints("kernel_shape", &[kernel; 2]), ints("pads", &[kernel / 2; 4])];
        let y = self.node("Conv", &format!("{name}.conv"), &[input, &weight, &bias], attributes);
        if relu { self.relu(name, &y) } else { y }
    }

    fn linear(&mut self, linear: &Linear, input: &str) -> String {
        let Linear { name, relu, .. } = linear;
        let [weight, bias] = self.tensors(Weighted::Linear(linear));
        let y = self.node("Gemm", &format!("{name}.gemm"), &[input, &weight, &bias], vec![]);
        if *relu { self.relu(name, &y) } else { y }
    }

    /// Appends a channel of ones, by padding after the last channel.
    fn ones(&mut self, name: &str, input: &str) -> String {
        let sides = [0, 0, 0, 0, 0, 1, 0, 0].map(i64::to_le_bytes).concat();
        let sides = self.tensor_of(proto::INT64, format!("{name}.sides"), &[8], sides);
        let one = self.tensor(format!("{name}.one"), &[], &[1.0]);
        self.node("Pad", name, &[input, &sides, &one], vec![])
    }

    /// The mean and the maximum of each channel: `[batch, channels, height, width]` to `[batch, 2 * channels]`.
    fn pool(&mut self, name: &str, input: &str) -> String {
        let mut over_squares = |op: &str, part: &str| {
            let attributes = vec![ints("axes", &[2, 3]), int("keepdims", 0)];
            self.node(op, &format!("{name}.{part}"), &[input], attributes)
        };
        let (mean, maximum) = (over_squares("ReduceMean", "mean"), over_squares("ReduceMax", "maximum"));
        self.node("Concat", &format!("{name}.pool"), &[&mean, &maximum], vec![int("axis", 1)])
    }

    /// Adds a number to all squares of each channel, computed from [`Builder::pool`] of all channels.
    fn global(&mut self, linear: &Linear, input: &str) -> String {
        let name = &linear.name;
        let pooled = self.pool(name, input);
        let added = self.linear(linear, &pooled);
        // `[batch, channels]` to `[batch, channels, 1, 1]`
        let axes = [2, 3].map(i64::to_le_bytes).concat();
        let axes = self.tensor_of(proto::INT64, format!("{name}.axes"), &[2], axes);
        let added = self.node("Unsqueeze", &format!("{name}.unsqueeze"), &[&added, &axes], vec![]);
        let sum = self.node("Add", &format!("{name}.add"), &[input, &added], vec![]);
        self.relu(name, &sum)
    }

    /// The weights and biases of a layer.
    fn tensors(&mut self, layer: Weighted) -> [String; 2] {
        let (name, numbers) = (layer.name(), self.weights.of(layer.name()));
        [
            self.tensor(format!("{name}.weight"), &layer.sizes(), &numbers.weight),
            self.tensor(format!("{name}.bias"), &[layer.outputs()], &numbers.bias),
        ]
    }

    fn relu(&mut self, name: &str, input: &str) -> String {
        self.node("Relu", &format!("{name}.relu"), &[input], vec![])
    }

    fn node(&mut self, op: &str, name: &str, inputs: &[&str], attribute: Vec<AttributeProto>) -> String {
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|input| input.to_string()).collect(),
            output: vec![name.into()],
            name: name.into(),
            op_type: op.into(),
            attribute,
        });
        name.into()
    }

    fn tensor(&mut self, name: String, dims: &[usize], values: &[f32]) -> String {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor_of(proto::FLOAT, name, dims, bytes)
    }

    fn tensor_of(&mut self, data_type: i32, name: String, dims: &[usize], raw_data: Vec<u8>) -> String {
        let dims = dims.iter().map(|&dim| dim as i64).collect();
        self.initializers.push(TensorProto { dims, data_type, name: name.clone(), raw_data });
        name
    }
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: value, ints: vec![], kind: proto::INT }
}

fn ints(name: &str, values: &[usize]) -> AttributeProto {
    let ints = values.iter().map(|&value| value as i64).collect();
    AttributeProto { name: name.into(), i: 0, ints, kind: proto::INTS }
}
