//! A page in a single file: rules, board, and agent, which plays wherever the file is opened.
//!
//! The file has the page of `page::assets` as one script; the program in WebAssembly (`assets/wasm`, built by
//! `scripts/release/build_wasm.sh`), which answers the page (`page::engine`); and the notices of the program's
//! components. The page makes no requests: its content security policy permits only its own scripts. The file is ASCII,
//! so a host may name any charset; large data is in attributes, which browsers keep when they save a page.

use std::io::Write;
use std::path::Path;
use std::sync::LazyLock;

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
use crate::page::assets::{FILE_PAGE, ICON, file_answering, file_script, style};
use crate::page::engine::Contents;
use crate::report::ascii;
use crate::report::page::GENERATOR;
use crate::shipped::Shipped;
use crate::storage;
use crate::template::filled;

/// The program in WebAssembly, packed by gzip, in base64.
static PROGRAM: LazyLock<String> =
    LazyLock::new(|| BASE64_STANDARD.encode(include_bytes!("../../assets/wasm/petteia.wasm.gz")));

/// The license notices of everything in the program, packed by gzip, in base64.
static LICENSES: LazyLock<String> = LazyLock::new(|| {
    let own =
        "This page was made by Petteia, which may be used under the MIT license or the Apache License 2.0.";
    let notices =
        [own, include_str!("../../LICENSE-MIT"), include_str!("../page/file/linked.txt")].join("\n\n");
    BASE64_STANDARD.encode(packed(notices.as_bytes()))
});

/// The size of a float in bytes.
const FLOAT: usize = size_of::<f32>();

/// A page that plays a game: with a trained agent, or without.
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    /// The game.
    pub rules: &'a Opened,
    /// The trained agent.
    pub checkpoint: Option<&'a Checkpoint>,
    /// The agent's name, as shown to people.
    pub agent: &'a str,
    /// The file of the agent's levels; without it, the default levels are used.
    pub levels: Option<&'a Shipped>,
}

/// Returns the text of the file.
///
/// # Errors
/// If the network cannot be read.
pub fn file(page: &Page) -> Result<String> {
    let Page { rules, checkpoint, agent, levels } = page;
    let weights = checkpoint
        .map(|checkpoint| safetensors::file_as_stored(checkpoint, None))
        .transpose()?
        .unwrap_or_default();
    let levels = levels.as_ref().and_then(|file| std::str::from_utf8(&file.bytes).ok());
    let contents = Contents {
        game: rules.identity.id.clone(),
        options: rules.identity.options.clone(),
        agent: agent.to_string(),
        levels: levels.map(String::from),
    };
    // in a script, no text may look like the script's end
    let contents =
        serde_json::to_string(&contents).expect("plain data is valid JSON").replace('<', "\\u003c");
    let (answering, script) = (file_answering(), file_script());
    let digest = |script: &str| BASE64_STANDARD.encode(Sha256::digest(format!("\n{script}")));
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}' 'sha256-{}' 'wasm-unsafe-eval'; worker-src blob:; \
         style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'",
        digest(&answering),
        digest(&script)
    );
    let title: Markup = html! { (rules.game.about().title) };
    let parts = [
        ("policy", policy.as_str()),
        ("generator", GENERATOR),
        ("title", &ascii::markup(&title.render().into_string())),
        ("icon", ICON),
        ("style", &style()),
        ("contents", &ascii::script(&contents)),
        ("program", &PROGRAM),
        ("agent", &BASE64_STANDARD.encode(packed(&planes(&weights)))),
        ("licenses", &LICENSES),
        ("answering", &answering),
        ("script", &script),
    ];
    Ok(filled(FILE_PAGE, &parts))
}

/// Writes the file, and returns its size in bytes.
///
/// # Errors
/// As for [`file()`], or if the file cannot be written.
pub fn write(page: &Page, out: &Path) -> Result<usize> {
    let text = file(page)?;
    storage::write_whole(out, text.as_bytes())?;
    Ok(text.len())
}

/// Returns the first bytes of all floats, then the second bytes, and so on. Bytes in the same place are similar, so in
/// this order they compress by a seventh; floats in their usual order do not compress.
fn planes(floats: &[u8]) -> Vec<u8> {
    (0..FLOAT).flat_map(|byte| floats.iter().skip(byte).step_by(FLOAT)).copied().collect()
}

/// Returns the bytes packed by gzip.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::best());
    packer.write_all(bytes).and_then(|()| packer.finish()).expect("writing to memory does not fail")
}
