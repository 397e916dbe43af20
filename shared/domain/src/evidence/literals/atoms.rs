//! Atoms: the smallest pieces that two names are compared by, and an index that finds any sequence of them.

use std::collections::HashMap;

use super::fold::{Folded, is_han, is_word};

/// The end of the atom at `i`, which must be at a word or Han character.
///
/// A Han character is an atom; otherwise an atom is a word with the words that hyphens join to it
/// (`payment-gateway` is not `payment`), and numbers keep their points and thousands commas (`2.3` is not in
/// `2.3.1`, nor 204 in 1,204).
pub(super) fn atom_end(text: &Folded<'_>, i: usize) -> usize {
    if is_han(text.at(i)) {
        return i + 1;
    }
    let mut end = text.run(i, is_word);
    let first = i + usize::from(matches!(text.at(i), 'v' | 'V'));
    if first < end && text.run(first, |c| c.is_ascii_digit()) == end {
        let digits_after = |at: usize| text.run(at + 1, |c| c.is_ascii_digit()) - at - 1;
        while text.at(end) == ',' && digits_after(end) == 3 && !is_word(text.at(end + 4)) {
            end += 4;
        }
        while text.at(end) == '.' && text.at(end + 1).is_ascii_digit() {
            end = text.run(end + 1, is_word);
        }
    }
    while text.at(end) == '-' && is_word(text.at(end + 1)) && !is_han(text.at(end + 1)) {
        end = text.run(end + 1, is_word);
    }
    end
}

/// The atoms of `from..to`, as written but folded; punctuation and white space are dropped.
pub(super) fn atoms(text: &Folded<'_>, from: usize, to: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut i = from;
    while i < to {
        if !is_word(text.at(i)) && !is_han(text.at(i)) {
            i += 1;
            continue;
        }
        let end = atom_end(text, i).min(to);
        let atom = text.slice(i, end).replace(',', "");
        // Markdown's emphasis, not a part of the name.
        let atom = atom.trim_matches('_');
        found.extend((!atom.is_empty()).then(|| atom.to_owned()));
        i = end;
    }
    found
}

/// The evidence's atoms, lower case, in order; finds phrases in `O(phrase × log evidence)` whatever the
/// evidence repeats.
#[derive(Default)]
pub(super) struct Phrases {
    ids: HashMap<String, u32>,
    /// Ids in order of the evidence; each break has an id that no atom has.
    tokens: Vec<u32>,
    breaks: u32,
    /// Positions of `tokens`, ordered by what follows them.
    order: Vec<usize>,
}

impl Phrases {
    pub(super) fn push(&mut self, atom: &str) {
        let next = self.fresh();
        let id = *self.ids.entry(atom.to_lowercase()).or_insert(next);
        self.tokens.push(id);
    }

    /// Ends a text: no phrase goes on behind it.
    pub(super) fn end_text(&mut self) {
        let id = self.fresh();
        self.breaks += 1;
        self.tokens.push(id);
    }

    fn fresh(&self) -> u32 {
        u32::try_from(self.ids.len()).unwrap_or(u32::MAX).saturating_add(self.breaks)
    }

    /// To be called once, when everything is in.
    pub(super) fn finish(&mut self) {
        self.order = suffix_order(&self.tokens);
    }

    /// Whether the atoms of `phrase` stand next to each other somewhere in one text. An empty phrase does
    /// not.
    pub(super) fn contains(&self, phrase: &[String]) -> bool {
        let ids: Option<Vec<u32>> =
            phrase.iter().map(|atom| self.ids.get(&atom.to_lowercase()).copied()).collect();
        let Some(ids) = ids.filter(|ids| !ids.is_empty()) else { return false };
        let start = |i: &usize| self.tokens.iter().skip(*i).take(ids.len());
        self.order.binary_search_by(|i| start(i).cmp(ids.iter())).is_ok()
    }

    pub(super) fn has(&self, atom: &str) -> bool {
        self.ids.contains_key(&atom.to_lowercase())
    }
}

/// The suffix array of `tokens` by prefix doubling, `O(n log² n)`.
fn suffix_order(tokens: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..tokens.len()).collect();
    let mut rank: Vec<u32> = tokens.to_vec();
    let mut width = 1;
    while width < tokens.len().saturating_mul(2) {
        let key = |i: usize| (rank.get(i).copied(), rank.get(i + width).copied());
        order.sort_unstable_by_key(|i| key(*i));
        let mut next = vec![0; tokens.len()];
        let (mut class, mut before) = (0, None);
        for i in &order {
            class += u32::from(before.is_some_and(|before| before != key(*i)));
            before = Some(key(*i));
            if let Some(slot) = next.get_mut(*i) {
                *slot = class;
            }
        }
        let all_distinct = usize::try_from(class).is_ok_and(|class| class + 1 == tokens.len());
        rank = next;
        if all_distinct {
            break;
        }
        width *= 2;
    }
    order
}
