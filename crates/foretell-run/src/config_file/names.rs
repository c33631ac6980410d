//! Names of entries: their levels, joined by dots.

/// A name's first level and the rest, for each of the dots that may be the end of the first level.
pub(super) fn levels(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let parts = name.match_indices('.').map(|(at, _)| (&name[..at], &name[at + 1..]));
    std::iter::once((name, "")).chain(parts)
}
