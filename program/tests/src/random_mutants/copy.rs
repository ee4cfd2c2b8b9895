//! The copies that mutants are built in.

use std::collections::BTreeMap;
use std::path::Path;

use super::weave::{weave, Place};
use super::Drawn;
use crate::mutants;

/// Writes a copy of the program with these mutants to `dir`; the result is where they stand, by file.
pub fn write(dir: &Path, drawn: &[Drawn]) -> Result<BTreeMap<String, Vec<Place>>, String> {
    let (mut files, mut places) = (mutants::weave_all(&[])?, BTreeMap::new());
    for (file, text) in &mut files {
        let here: Vec<&Drawn> = drawn.iter().filter(|drawn| drawn.site.file == *file).collect();
        let woven = weave(text, &here);
        *text = woven.text;
        // The line that the copy's lib.rs begins with moves what follows.
        let shift = if file == "lib.rs" { mutants::ALLOWED.len() } else { 0 };
        let moved = woven.places.into_iter().map(|place| place.moved(shift)).collect();
        places.insert(file.clone(), moved);
    }
    mutants::write_files(dir, files)?;
    Ok(places)
}
