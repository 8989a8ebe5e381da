//! A page in a single file: rules, board and agent, which plays wherever the file is opened.
//!
//! The file has the page of `page::assets`, as one script, and the program in WebAssembly (`assets/wasm`, built by
//! `scripts/build_wasm.sh`), which answers it (`page::engine`). It makes no request: its content security policy permits its
//! own script only.

use std::io::Write;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use maud::{Markup, Render, html};
use sha2::{Digest, Sha256};

use super::safetensors;
use crate::any::Opened;
use crate::checkpoint::Checkpoint;
use crate::error::Result;
use crate::game::Game;
use crate::page::assets::{FILE_PAGE, FILE_WORKER, ICON, file_script, style};
use crate::page::engine::Contents;
use crate::report::page::GENERATOR;
use crate::storage;

/// The program in WebAssembly, packed by gzip.
const PROGRAM: &[u8] = include_bytes!("../../assets/wasm/petteia.wasm.gz");

/// The bytes of a float.
const FLOAT: usize = size_of::<f32>();

/// A page that plays a game: with a trained agent, or without.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The game, with what the program carries for it.
    pub rules: &'a Opened,
    /// The trained agent.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The agent's name, for people.
    pub agent: &'a str,
}

/// The text of the file.
///
/// # Errors
/// The network cannot be read.
pub fn file(page: &Page) -> Result<String> {
    let Page { rules, checkpoint, agent } = page;
    let weights = checkpoint.map(safetensors::file).transpose()?.unwrap_or_default();
    let levels = rules.shipped.levels.and_then(|file| std::str::from_utf8(file.bytes).ok());
    let contents = Contents {
        game: rules.identity.id.clone(),
        options: rules.identity.options.clone(),
        agent: agent.to_string(),
        levels: levels.map(String::from),
    };
    // in a script, no text may look like its end
    let contents = serde_json::to_string(&contents).expect("plain data").replace('<', "\\u003c");
    let script = file_script();
    let digest = BASE64_STANDARD.encode(Sha256::digest(format!("\n{script}")));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{digest}' 'wasm-unsafe-eval'; worker-src blob:; style-src 'unsafe-inline'; \
         img-src data:; base-uri 'none'; form-action 'none'"
    );
    let title: Markup = html! { (rules.game.about().title) };
    let parts = [
        ("policy", policy),
        ("generator", GENERATOR.into()),
        ("title", title.render().into_string()),
        ("icon", ICON.into()),
        ("style", style()),
        ("contents", contents),
        ("program", BASE64_STANDARD.encode(PROGRAM)),
        ("agent", BASE64_STANDARD.encode(packed(&weights))),
        ("worker", FILE_WORKER.into()),
        ("script", script),
    ];
    Ok(filled(FILE_PAGE, &parts))
}

/// Writes the file, and returns its size in bytes.
///
/// # Errors
/// As for [`file()`], or the file cannot be written.
pub fn write(page: &Page, out: &Path) -> Result<usize> {
    let text = file(page)?;
    storage::write_whole(out, text.as_bytes())?;
    Ok(text.len())
}

/// The bytes of floats, packed by gzip: first the first byte of each float, then the second ones, and so on, since those are
/// alike and pack by a seventh, which floats as they are do not.
fn packed(floats: &[u8]) -> Vec<u8> {
    let planes: Vec<u8> =
        (0..FLOAT).flat_map(|byte| floats.iter().skip(byte).step_by(FLOAT)).copied().collect();
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(&planes).and_then(|()| packer.finish()).expect("memory does not fail")
}

/// The template with its places `{{name}}` filled, once: what is filled in has no places.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, place)) = rest.split_once("{{") {
        let (name, after) = place.split_once("}}").expect("places of the template end");
        let (_, part) =
            parts.iter().find(|(known, _)| *known == name).expect("the template has known places");
        text += before;
        text += part;
        rest = after;
    }
    text + rest
}
