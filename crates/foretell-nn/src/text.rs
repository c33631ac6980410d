//! Texts as sequences of words: from files, or drawn from a seed.

use crate::error::Error;
use crate::stream::{StreamPurpose, stream};
use rand::{Rng, RngExt};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The most words of a vocabulary, that of the Penn Treebank; rarer ones are read as [`UNKNOWN`].
const MAX_WORDS: usize = 10_000;
/// The token for a word that is not in the vocabulary.
pub(crate) const UNKNOWN_TOKEN: &str = "<unk>";
/// The end of a line.
const END_OF_LINE_TOKEN: &str = "<eos>";

/// Words of the drawn text, and how many of each part are drawn unless said otherwise.
const DRAWN_WORDS: usize = 50;
const DRAWN_TRAIN: usize = 20_000;
const DRAWN_VALIDATION: usize = 4_000;
/// The most words drawn, so that a mistyped size is an error and does not exhaust the memory.
const MAX_DRAWN_WORDS: usize = 100_000_000;
/// Probabilities of the four words that may follow a pair of words.
const FOLLOWER_PROBABILITIES: [f64; 4] = [0.55, 0.25, 0.15, 0.05];

/// A text in two parts, as word numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextCorpus {
    /// The vocabulary, at most 10 000 words; a token is the number of a word in it.
    pub words: Vec<String>,
    /// The text that the network learns from.
    pub train: Vec<u16>,
    /// The text that its perplexity is measured on.
    pub validation: Vec<u16>,
}

impl TextCorpus {
    /// Limits the vocabulary to the `words` most frequent; the others are read as the unknown word.
    #[must_use]
    pub fn limit_vocabulary(mut self, words: usize) -> Self {
        if self.words.len() <= words || words == 0 {
            return self;
        }
        let unknown = self.words.iter().position(|word| word == UNKNOWN_TOKEN).filter(|&place| place < words);
        let unknown = unknown.unwrap_or(words - 1);
        self.words.truncate(words);
        self.words[unknown] = UNKNOWN_TOKEN.to_owned();
        for token in self.train.iter_mut().chain(&mut self.validation) {
            if usize::from(*token) >= words {
                *token = unknown as u16;
            }
        }
        self
    }
}

/// The tokens of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenUnit {
    /// Words between blanks, and an end for each line.
    Words,
    /// Characters.
    Characters,
}

/// Samples a text of 50 words, each of them dependent on the two before it.
///
/// For each pair of words, four words may follow, with probabilities 0.55, 0.25, 0.15 and 0.05, sampled by the seed. A perfect
/// model has a perplexity of about 3.
pub(crate) fn draw(train: Option<usize>, validation: Option<usize>, seed: u64) -> Result<TextCorpus, Error> {
    let (train, validation) = (train.unwrap_or(DRAWN_TRAIN), validation.unwrap_or(DRAWN_VALIDATION));
    if train < 2 || validation < 2 || train > MAX_DRAWN_WORDS || validation > MAX_DRAWN_WORDS {
        return Err(Error::TooFewTokens {
            data: "words".to_owned(),
            train,
            validation,
            available: MAX_DRAWN_WORDS,
        });
    }
    Ok(TextCorpus {
        words: (0..DRAWN_WORDS).map(|word| format!("w{word}")).collect(),
        train: drawn(train, seed, StreamPurpose::TrainingImage),
        validation: drawn(validation, seed, StreamPurpose::ValidationImage),
    })
}

fn drawn(count: usize, seed: u64, purpose: StreamPurpose) -> Vec<u16> {
    // both parts have the same rules, so that what is learned from one holds in the other
    let mut rules = stream(seed, StreamPurpose::Split, 0);
    let followers: Vec<[u16; 4]> = (0..DRAWN_WORDS * DRAWN_WORDS)
        .map(|_| std::array::from_fn(|_| rules.random_range(0..DRAWN_WORDS) as u16))
        .collect();
    let mut rng = stream(seed, purpose, 0);
    let (mut before, mut last) = (0, 0);
    (0..count)
        .map(|_| {
            let next =
                followers[usize::from(before) * DRAWN_WORDS + usize::from(last)][draw_follower(&mut rng)];
            (before, last) = (last, next);
            next
        })
        .collect()
}

fn draw_follower(rng: &mut impl Rng) -> usize {
    let drawn: f64 = rng.random();
    let mut reached = 0.0;
    let passed = FOLLOWER_PROBABILITIES[..3].iter().take_while(|share| {
        reached += **share;
        reached <= drawn
    });
    passed.count()
}

/// Reads a text: a file, whose last tenth is for validation, or a folder with a file for training and one for validation.
///
/// In a folder the names of the files contain `train` and `valid`, as in the Penn Treebank (`ptb.train.txt`) and WikiText
/// (`wiki.train.tokens`). The vocabulary is that of the training part.
pub(crate) fn load(
    path: &Path,
    tokens: TokenUnit,
    train: Option<usize>,
    validation: Option<usize>,
) -> Result<TextCorpus, Error> {
    let (mut learned, mut judged) = if path.is_dir() {
        (read_tokens(&find_part(path, "train")?, tokens)?, read_tokens(&find_part(path, "valid")?, tokens)?)
    } else {
        let mut learned = read_tokens(path, tokens)?;
        let judged =
            learned.split_off(learned.len() - validation.unwrap_or(learned.len() / 10).min(learned.len()));
        (learned, judged)
    };
    let available = learned.len() + judged.len();
    let (train, validation) = (train.unwrap_or(learned.len()), validation.unwrap_or(judged.len()));
    if train < 2 || validation < 2 || train > learned.len() || validation > judged.len() {
        let data = path.display().to_string();
        return Err(Error::TooFewTokens { data, train, validation, available });
    }
    learned.truncate(train);
    judged.truncate(validation);
    Ok(number_words(&learned, &judged))
}

fn read_tokens(path: &Path, tokens: TokenUnit) -> Result<Vec<String>, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    let text = String::from_utf8(bytes)
        .map_err(|error| Error::NotText { path: path.to_owned(), byte: error.utf8_error().valid_up_to() })?;
    Ok(split_tokens(&text, tokens))
}

/// The file of `directory` whose name contains `name`; the first by name if there are several.
fn find_part(directory: &Path, name: &'static str) -> Result<PathBuf, Error> {
    let entries = std::fs::read_dir(directory).map_err(|error| Error::read(directory, error))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.is_file());
    paths.retain(|path| path.file_name().is_some_and(|file| file.to_string_lossy().contains(name)));
    paths.sort();
    paths.into_iter().next().ok_or_else(|| Error::NoFiles {
        directory: directory.to_owned(),
        expected: if name == "train" {
            "file with `train` in its name"
        } else {
            "file with `valid` in its name"
        },
    })
}

fn split_tokens(text: &str, tokens: TokenUnit) -> Vec<String> {
    match tokens {
        TokenUnit::Characters => text.chars().map(String::from).collect(),
        TokenUnit::Words => text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .flat_map(|line| line.split_whitespace().chain(std::iter::once(END_OF_LINE_TOKEN)))
            .map(str::to_owned)
            .collect(),
    }
}

/// Words by number: the most frequent of the training part first, equally frequent ones by name.
fn number_words(train: &[String], validation: &[String]) -> TextCorpus {
    let mut counts: HashMap<&str, usize> = HashMap::from([(UNKNOWN_TOKEN, 0)]);
    for word in train {
        *counts.entry(word).or_default() += 1;
    }
    let mut words: Vec<(&str, usize)> = counts.into_iter().collect();
    words.sort_unstable_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut words: Vec<&str> = words.into_iter().map(|(word, _)| word).collect();
    words.truncate(MAX_WORDS);
    if !words.contains(&UNKNOWN_TOKEN) {
        // the rarest word gives way, because words outside of the vocabulary need a number
        words.pop();
        words.push(UNKNOWN_TOKEN);
    }
    let numbers: HashMap<&str, u16> = words.iter().zip(0..).map(|(&word, number)| (word, number)).collect();
    let unknown = numbers[UNKNOWN_TOKEN];
    let [train, validation] = [train, validation]
        .map(|text| text.iter().map(|word| numbers.get(word.as_str()).copied().unwrap_or(unknown)).collect());
    TextCorpus { train, validation, words: words.into_iter().map(str::to_owned).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_text_repeats_by_its_seed_and_each_pair_has_few_followers() {
        let corpus = draw(Some(30_000), Some(100), 3).unwrap();
        assert_eq!(draw(Some(100), Some(100), 3).unwrap().train, corpus.train[..100]);
        assert_ne!(draw(Some(100), Some(100), 4).unwrap().train, corpus.train[..100]);
        let mut followers: HashMap<(u16, u16), std::collections::HashSet<u16>> = HashMap::new();
        for words in corpus.train.windows(3) {
            followers.entry((words[0], words[1])).or_default().insert(words[2]);
        }
        assert!(followers.len() > 500 && followers.values().all(|set| set.len() <= 4));
        assert!(draw(Some(1), None, 0).is_err());
    }

    #[test]
    fn files_are_cut_into_words_and_rare_words_are_unknown() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        write("ptb.train.txt", " the cat sat \n\n the dog\n");
        write("ptb.valid.txt", "the bird sat\n");
        let corpus = load(directory.path(), TokenUnit::Words, None, None).unwrap();
        assert_eq!(corpus.words, ["<eos>", "the", "cat", "dog", "sat", "<unk>"]);
        assert_eq!((corpus.train, corpus.validation), (vec![1, 2, 4, 0, 1, 3, 0], vec![1, 5, 4, 0]));
        let one = write("one.txt", "abcabcabcabcabcabcab");
        let corpus = load(&one, TokenUnit::Characters, None, None).unwrap();
        assert_eq!((corpus.train.len(), corpus.validation.len(), corpus.words.len()), (18, 2, 4));
        let corpus = load(&one, TokenUnit::Characters, Some(10), Some(5)).unwrap();
        assert_eq!((corpus.train.len(), corpus.validation.len()), (10, 5));
    }

    #[test]
    fn a_smaller_vocabulary_keeps_the_most_frequent_words_and_reads_the_others_as_unknown() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect();
        let train = vec![0, 1, 2, 3, 4, 0];
        let corpus =
            TextCorpus { words: words(&["a", "b", "c", "d", UNKNOWN_TOKEN]), train, validation: vec![4, 1] };
        let fewer = corpus.clone().limit_vocabulary(3);
        assert_eq!(fewer.words, ["a", "b", UNKNOWN_TOKEN]);
        assert_eq!((fewer.train, fewer.validation), (vec![0, 1, 2, 2, 2, 0], vec![2, 1]));
        assert_eq!(corpus.clone().limit_vocabulary(5), corpus);
        let early = TextCorpus { words: words(&["a", UNKNOWN_TOKEN, "c"]), train: vec![0, 1, 2], ..corpus };
        let fewer = early.limit_vocabulary(2);
        assert_eq!((fewer.words, fewer.train), (words(&["a", UNKNOWN_TOKEN]), vec![0, 1, 1]));
    }

    #[test]
    fn broken_texts_are_refused_with_file_and_place() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("text");
        std::fs::write(&path, b"good \xff bad").unwrap();
        let message = load(&path, TokenUnit::Words, None, None).unwrap_err().to_string();
        assert!(message.contains("byte 5 is not UTF-8"), "{message}");
        std::fs::write(&path, "a b").unwrap();
        let message = load(&path, TokenUnit::Words, Some(9), None).unwrap_err().to_string();
        assert!(message.contains("contains 3"), "{message}");
        let message = load(directory.path(), TokenUnit::Words, None, None).unwrap_err().to_string();
        assert!(message.contains("no file with `train` in its name"), "{message}");
    }
}
