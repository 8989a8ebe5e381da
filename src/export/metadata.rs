//! The metadata of an export, as names and texts that are the same in every format.
//!
//! The entry `petteia` is the checkpoint's manifest; this program reads only this entry and its SHA-256. The other
//! entries repeat parts of the manifest and describe input, outputs, and layers for people and for other programs.

use std::collections::BTreeMap;

use crate::checkpoint::{ABOUT_SHA256, Manifest, TENSORS, format_of};
use crate::game::Shape;
use crate::net::auxiliary::{has_heads, without_heads};
use crate::net::layers::{EPSILON, Layers};
use crate::program::Program;
use crate::storage;

/// Names and texts, sorted by name.
pub(super) type Entries = BTreeMap<&'static str, String>;

/// Returns the entries for an export of the checkpoint with this manifest and these `tensors`.
pub(super) fn entries(manifest: &Manifest, tensors: &[u8]) -> Entries {
    let sha256 = storage::sha256(tensors);
    let mut manifest = manifest.clone();
    if has_heads(&manifest.net) {
        manifest.net = without_heads(&manifest.net);
        manifest.format = format_of(&manifest.net);
    }
    // an export has no accompanying files
    manifest.files = BTreeMap::from([(TENSORS.into(), sha256.clone())]);
    let game = &manifest.game;
    let Shape { planes, height, width, actions } = game.shape;
    let about = manifest.text();
    let json = |value: serde_json::Result<String>| value.expect("settings and sizes are valid JSON");
    BTreeMap::from([
        (ABOUT_SHA256, storage::sha256(about.as_bytes())),
        ("petteia", about),
        ("game", game.id.clone()),
        ("game_options", json(serde_json::to_string(&game.options))),
        ("encoding_version", game.encoding.to_string()),
        ("shape", json(serde_json::to_string(&game.shape))),
        ("generation", manifest.generation.to_string()),
        ("step", manifest.step.to_string()),
        ("seed", manifest.seed.to_string()),
        ("trained_by", manifest.program.clone()),
        ("exported_by", Program::current().to_string()),
        ("tensors_sha256", sha256),
        (
            "planes",
            format!(
                "input, float32 [batch, {planes}, {height}, {width}]: a position in encoding version {} of {}, as \
                 seen by the player to move; `{} analyze {} --agent AGENT --planes` prints it",
                game.encoding,
                game.id,
                Program::current().name,
                game.id
            ),
        ),
        (
            "policy",
            format!(
                "output, float32 [batch, {actions}]: a logit for each action; the softmax over the legal actions \
                 gives their probabilities"
            ),
        ),
        (
            "wdl",
            "output, float32 [batch, 3]: probabilities of win, draw, and loss for the player to move (the softmax of \
             the value head); win minus loss is the value"
                .into(),
        ),
        ("action_order", action_order(game.shape)),
        ("layers", json(serde_json::to_string(&Layers::new(&manifest.net, game.shape)))),
        ("layer_kinds", LAYER_KINDS.into()),
        ("tensors", TENSORS_OF_LAYERS.into()),
        ("batch_norm_epsilon", EPSILON.to_string()),
    ])
}

/// Explains what each kind of layer computes.
const LAYER_KINDS: &str = "\
policy = softmax over the legal actions of [logits, part by part](policy(tower(planes))), wdl = \
softmax(value(tower(planes))). conv: stride 1, zero padding that keeps the board's size, batch norm if `norm`, then \
ReLU if `relu`. block: ReLU(second(first(x)) + x). \
ones: one more plane after the others, 1 on every square. \
flatten: planes to a row, in the order plane, row, column. \
pool: planes to a row, first the mean of each plane, then the maximum of each. \
linear: x @ weight + bias, then ReLU if `relu`. \
global: ReLU(x + linear(pool(x))), where each output of linear is added to every square of its plane";

/// The names and sizes of the tensors of each kind of layer, and how batch norm uses them.
const TENSORS_OF_LAYERS: &str = "\
in safetensors files, by the `name` of a layer. \
conv with `norm`: NAME.conv.weight [outputs, inputs, kernel, kernel], and NAME.norm.gamma, .beta, .running_mean, \
and .running_var, [outputs] each, for gamma * (x - running_mean) / sqrt(running_var + batch_norm_epsilon) + beta. \
conv without `norm`: NAME.weight [outputs, inputs, kernel, kernel] and NAME.bias [outputs]. \
linear and global: NAME.weight [inputs, outputs], which is the transpose of PyTorch's, and NAME.bias [outputs]. \
In ONNX files, batch norm is folded into the convolutions, and the plane of `ones` into the \
values added after the first of them";

/// Returns a description of what the indices of actions mean.
fn action_order(shape: Shape) -> String {
    let Shape { height, width, actions, .. } = shape;
    let (whole, extras) = (actions / shape.cells(), actions % shape.cells());
    let squares = format!(
        "index = (kind * {height} + row) * {width} + column, kinds 0 to {}, rows and columns as in the planes",
        whole.saturating_sub(1)
    );
    let first = match (whole, extras) {
        (0, _) => format!("{extras} actions without a square"),
        (_, 0) => squares,
        _ => format!("{squares}; then {extras} actions without a square"),
    };
    let program = Program::current().name;
    format!("{first}; `legal_actions` of `{program} analyze --planes` lists such indices, with their texts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_actions_is_that_of_the_shape() {
        let order = |actions| action_order(Shape { planes: 1, height: 6, width: 7, actions });
        assert!(order(7).starts_with("7 actions without a square; `legal_actions`"), "{}", order(7));
        let squares =
            "index = (kind * 6 + row) * 7 + column, kinds 0 to 1, rows and columns as in the planes";
        assert!(order(84).starts_with(&format!("{squares}; `legal_actions`")), "{}", order(84));
        let both = format!("{squares}; then 3 actions without a square; `legal_actions`");
        assert!(order(87).starts_with(&both), "{}", order(87));
    }
}
