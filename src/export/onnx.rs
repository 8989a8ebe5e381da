//! The network as an ONNX file (opset 17, IR version 8): the layers of its [`Weights`], in f32.
//!
//! Input: `planes` `[batch, planes, height, width]`. Outputs: `policy` `[batch, actions]`, the logits of all actions,
//! to be masked to the legal ones before a softmax; and `wdl` `[batch, 3]`, the probabilities of win, draw, and loss
//! for the player to move. The batch size is free. Batch norm is folded into the convolutions, and the plane of ones
//! into the values added after the first convolution. Tensors are named after their layers (`blocks.0.first.weight`),
//! nodes after their outputs. The entries of `metadata` are the model's metadata.
//!
//! The file uses only operators that even small runtimes have: those of image classifiers. The operators are defined at
//! <https://onnx.ai/onnx/operators/>.

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

/// Returns the metadata of an ONNX file written by Petteia, or `None` for other files.
pub fn read_metadata(bytes: &[u8]) -> Option<BTreeMap<String, String>> {
    let model = ModelProto::decode(bytes).ok()?;
    let entries: BTreeMap<_, _> =
        model.metadata_props.into_iter().map(|entry| (entry.key, entry.value)).collect();
    entries.contains_key("petteia").then_some(entries)
}

/// Returns the bytes of the ONNX file.
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
            "Policy and value of positions of {}, learned from self-play. The metadata explains the input and the \
             outputs and says where the network comes from.",
            manifest.game.id
        ),
        graph: Some(graph(&network.weights(), &manifest.game.id, &entries)),
        opset_import: vec![OperatorSetIdProto { domain: String::new(), version: OPSET }],
        metadata_props: entries
            .iter()
            .map(|(key, value)| StringStringEntryProto { key: key.to_string(), value: value.clone() })
            .collect(),
    };
    Ok(model.encode_to_vec())
}

fn graph(weights: &Weights, name: &str, entries: &Entries) -> GraphProto {
    let Shape { planes, height, width, actions } = weights.layers.shape;
    let mut graph = GraphBuilder { weights, nodes: Vec::new(), initializers: Vec::new() };
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
struct GraphBuilder<'a> {
    weights: &'a Weights,
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
}

impl<'a> GraphBuilder<'a> {
    fn network(&mut self) {
        let Layers { tower, policy, logits, value, .. } = &self.weights.layers;
        let x = self.along(tower, INPUT);
        let p = self.along(policy, &x);
        let logits: Vec<String> = logits.iter().map(|part| self.along(part, &p)).collect();
        match &logits[..] {
            [_] => self.rename_last(OUTPUTS[0]),
            parts => {
                let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
                self.node("Concat", OUTPUTS[0], &parts, vec![int("axis", 1)]);
            }
        }
        let v = self.along(value, &x);
        self.node("Softmax", OUTPUTS[1], &[&v], vec![int("axis", 1)]);
    }

    fn along(&mut self, layers: &'a [Layer], input: &str) -> String {
        let mut x = input.to_string();
        // layers without a name are named after the previous layer
        let mut name = input;
        let mut layers = layers.iter();
        while let Some(layer) = layers.next() {
            x = match layer {
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
                Layer::Ones => {
                    let Some(Layer::Conv(conv)) = layers.next() else {
                        panic!("a convolution follows `ones`")
                    };
                    name = &conv.name;
                    self.conv_with_ones(conv, &x)
                }
                // `[batch, channels, height, width]` to `[batch, channels * height * width]`
                Layer::Flatten => self.flatten(name, &x),
                Layer::Pool => self.pool(name, &x),
                Layer::Linear(linear) => {
                    name = &linear.name;
                    self.linear(linear, &x)
                }
            }
        }
        x
    }

    fn conv(&mut self, conv: &Conv, input: &str) -> String {
        let [weight, bias] = self.tensors(Weighted::Conv(conv));
        let y = self.conv_of(conv, &[input, &weight, &bias]);
        if conv.relu { self.relu(&conv.name, &y) } else { y }
    }

    /// Adds a convolution of `input` followed by a plane of ones, which is not an input of the file: the contribution
    /// of that plane is the same in every position, and is added to each square together with the bias.
    fn conv_with_ones(&mut self, conv: &Conv, input: &str) -> String {
        let &Conv { ref name, inputs, outputs, kernel, .. } = conv;
        let Shape { height, width, .. } = self.weights.layers.shape;
        let numbers = self.weights.of(name);
        let filters = numbers.weight.chunks_exact(inputs * kernel * kernel);
        let (shares, weight): (Vec<_>, Vec<_>) = filters
            .zip(&numbers.bias)
            .map(|(filter, &bias)| {
                let (weight, of_ones) = filter.split_at((inputs - 1) * kernel * kernel);
                (share_of_ones(of_ones, kernel, bias, [height, width]), weight)
            })
            .unzip();
        let sizes = [outputs, inputs - 1, kernel, kernel];
        let weight = self.tensor(format!("{name}.weight"), &sizes, &weight.concat());
        let bias = self.tensor(format!("{name}.bias"), &[1, outputs, height, width], &shares.concat());
        let y = self.conv_of(conv, &[input, &weight]);
        let y = self.node("Add", &format!("{name}.add"), &[&y, &bias], vec![]);
        if conv.relu { self.relu(name, &y) } else { y }
    }

    /// Adds only the convolution itself: `inputs` are planes, weights, and perhaps biases.
    fn conv_of(&mut self, conv: &Conv, inputs: &[&str]) -> String {
        let attributes = vec![ints("kernel_shape", &[conv.kernel; 2]), ints("pads", &[conv.kernel / 2; 4])];
        self.node("Conv", &format!("{}.conv", conv.name), inputs, attributes)
    }

    fn linear(&mut self, linear: &Linear, input: &str) -> String {
        let Linear { name, relu, .. } = linear;
        let [weight, bias] = self.tensors(Weighted::Linear(linear));
        let y = self.node("Gemm", &format!("{name}.gemm"), &[input, &weight, &bias], vec![]);
        if *relu { self.relu(name, &y) } else { y }
    }

    /// Adds the mean and the maximum of each channel: `[batch, channels, height, width]` to `[batch, 2 * channels]`.
    fn pool(&mut self, name: &str, input: &str) -> String {
        let mean = self.node("GlobalAveragePool", &format!("{name}.mean"), &[input], vec![]);
        let maximum = self.node("GlobalMaxPool", &format!("{name}.maximum"), &[input], vec![]);
        let both = self.node("Concat", &format!("{name}.pool"), &[&mean, &maximum], vec![int("axis", 1)]);
        self.flatten(name, &both)
    }

    fn flatten(&mut self, name: &str, input: &str) -> String {
        self.node("Flatten", &format!("{name}.flatten"), &[input], vec![int("axis", 1)])
    }

    /// Adds a layer that computes one number per channel from the [`GraphBuilder::pool`] of all channels and adds it to
    /// all squares of the channel.
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

    /// Adds the weights and biases of a layer, and returns their names.
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

    /// Renames the newest value, which is not yet an input of any node.
    fn rename_last(&mut self, name: &str) {
        let last = self.nodes.last_mut().expect("the graph has a node");
        (last.name, last.output) = (name.into(), vec![name.into()]);
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

/// Returns the output of a filter with the weights `of_ones`, `[kernel, kernel]`, for a plane of ones, plus `bias`,
/// on each square of a board of these sizes: the sum of the weights that are not beyond an edge.
fn share_of_ones(of_ones: &[f32], kernel: usize, bias: f32, [height, width]: [usize; 2]) -> Vec<f32> {
    let inside = |at: usize, tap: usize, size: usize| (kernel / 2..size + kernel / 2).contains(&(at + tap));
    let on_square = |square: usize| {
        let taps = of_ones.iter().enumerate().filter(|(tap, _)| {
            inside(square / width, tap / kernel, height) && inside(square % width, tap % kernel, width)
        });
        let sum: f64 = taps.map(|(_, &weight)| f64::from(weight)).sum();
        (sum + f64::from(bias)) as f32
    };
    (0..height * width).map(on_square).collect()
}

fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { name: name.into(), i: Some(value), ints: vec![], kind: proto::INT }
}

fn ints(name: &str, values: &[usize]) -> AttributeProto {
    let ints = values.iter().map(|&value| value as i64).collect();
    AttributeProto { name: name.into(), i: None, ints, kind: proto::INTS }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The encoding is that of proto2. To check this, scripts/check/onnx_outputs.py compares whole files with those
    /// that the Python package `onnx` writes.
    #[test]
    fn numbers_are_encoded_one_by_one_and_zeros_are_written() {
        let encoded = |attribute: AttributeProto| attribute.encode_to_vec();
        assert_eq!(encoded(int("axis", 0)), b"\x0a\x04axis\x18\x00\xa0\x01\x02");
        assert_eq!(encoded(ints("pads", &[1, 0])), b"\x0a\x04pads\x40\x01\x40\x00\xa0\x01\x07");
        let tensor = TensorProto {
            dims: vec![2, 1],
            data_type: proto::FLOAT,
            name: "w".into(),
            raw_data: [1.0f32, -2.0].map(f32::to_le_bytes).concat(),
        };
        let bytes = b"\x08\x02\x08\x01\x10\x01\x42\x01w\x4a\x08\x00\x00\x80\x3f\x00\x00\x00\xc0";
        assert_eq!(tensor.encode_to_vec(), bytes);
        let version = OperatorSetIdProto { domain: String::new(), version: OPSET };
        assert_eq!(version.encode_to_vec(), b"\x0a\x00\x10\x11");
    }

    /// Files of Petteia 0.2 and earlier have packed numbers.
    #[test]
    fn packed_numbers_are_read() {
        let read = AttributeProto::decode(&b"\x0a\x04pads\x42\x02\x01\x00\xa0\x01\x07"[..]);
        assert_eq!(read.unwrap(), ints("pads", &[1, 0]));
        let read = TensorProto::decode(&b"\x0a\x02\x02\x01\x10\x01\x42\x01w\x4a\x00"[..]);
        assert_eq!(read.unwrap().dims, [2, 1]);
    }

    #[test]
    fn edges_and_corners_see_fewer_ones() {
        let taps = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];
        let share = |sizes| share_of_ones(&taps, 3, 1000.0, sizes);
        let rows = [
            [16 + 32 + 128 + 256, 8 + 16 + 32 + 64 + 128 + 256, 8 + 16 + 64 + 128],
            [511 - 1 - 8 - 64, 511, 511 - 4 - 32 - 256],
            [2 + 4 + 16 + 32, 1 + 2 + 4 + 8 + 16 + 32, 1 + 2 + 8 + 16],
        ];
        assert_eq!(
            share([3, 3]),
            rows.as_flattened().iter().map(|sum| 1000.0 + *sum as f32).collect::<Vec<_>>()
        );
        assert_eq!(share([1, 2]), [1000.0 + 16.0 + 32.0, 1000.0 + 8.0 + 16.0]);
        assert_eq!(share_of_ones(&[3.0], 1, 0.5, [2, 2]), [3.5; 4]);
    }
}
