//! The data sets that can be fetched: where their authors keep them, and their checksums.

/// A data set that can be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Download {
    /// Its name, that of its folder, too.
    pub name: String,
    /// How `--data` names it: the part before the colon.
    pub kind: String,
    /// What is fetched.
    pub files: Vec<RemoteFile>,
}

/// A file to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Its address, up to its name.
    pub base: String,
    /// Its name; of an archive it ends in `.zip`, `.tgz` or `.tar.gz`.
    pub name: String,
    /// Its MD5 checksum in hexadecimal, as published.
    pub md5: String,
    /// What is in it, if it is an archive.
    pub archive: Option<Archive>,
}

/// The files of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive {
    /// The folders before all names, which are left out.
    pub root: String,
    /// How the names begin of what is unpacked, after `root`; all if there is none.
    pub members: Vec<String>,
}

/// A file of the table: its set, how `--data` names it, its address, its name, its checksum, and the folders and files of an archive.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, Option<Contents>);
type Contents = (&'static str, &'static [&'static str]);

const MNIST: &str = "https://ossci-datasets.s3.amazonaws.com/mnist/";
const FASHION: &str = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
const IMAGES: &str = "train-images-idx3-ubyte.gz";
const LABELS: &str = "train-labels-idx1-ubyte.gz";

const ROWS: &[Row] = &[
    (
        "cifar10",
        "cifar10",
        "https://www.cs.toronto.edu/~kriz/",
        "cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
        Some(("cifar-10-batches-bin/", &[])),
    ),
    ("mnist", "mnist", MNIST, IMAGES, "f68b3c2dcbeaaa9fbdd348bbdeb94873", None),
    ("mnist", "mnist", MNIST, LABELS, "d53e105ee54ea40749a09fcbcd1e9432", None),
    ("fashion-mnist", "fashion-mnist", FASHION, IMAGES, "8d4fb7e6c68d591d4c3dfef9ec88bf0d", None),
    ("fashion-mnist", "fashion-mnist", FASHION, LABELS, "25c81989df183df01b3e8a0aad5dffbe", None),
    (
        "svhn",
        "svhn",
        "http://ufldl.stanford.edu/housenumbers/",
        "train_32x32.mat",
        "e26dedcc434d2e4c54c9b2d4a06d8373",
        None,
    ),
    (
        "tiny-imagenet",
        "tiny-imagenet",
        "http://cs231n.stanford.edu/",
        "tiny-imagenet-200.zip",
        "90528d7ca1a48142e341f4ef8d21d0de",
        Some(("tiny-imagenet-200/", &["train/"])),
    ),
    (
        "ptb",
        "text",
        "http://www.fit.vutbr.cz/~imikolov/rnnlm/",
        "simple-examples.tgz",
        "30177ea32e27c525793142b6bf2c8e2d",
        Some(("simple-examples/data/", &["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"])),
    ),
    (
        "wikitext-2",
        "text",
        "https://wikitext.smerity.com/",
        "wikitext-2-v1.zip",
        "542ccefacc6c27f945fb54453812b3cd",
        Some(("wikitext-2/", &[])),
    ),
];

/// All data sets that can be fetched.
///
/// MNIST's own address answers no more: its files come from where PyTorch keeps them. WikiText-2 is where its author keeps it.
pub fn catalogue() -> Vec<Download> {
    let mut sets: Vec<Download> = Vec::new();
    for &(set, kind, base, name, md5, contents) in ROWS {
        let archive = contents.map(|(root, members)| Archive {
            root: root.to_owned(),
            members: members.iter().map(|&member| member.to_owned()).collect(),
        });
        let file = RemoteFile { base: base.to_owned(), name: name.to_owned(), md5: md5.to_owned(), archive };
        match sets.last_mut().filter(|last| last.name == set) {
            Some(last) => last.files.push(file),
            None => sets.push(Download { name: set.to_owned(), kind: kind.to_owned(), files: vec![file] }),
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_files_with_checksums_and_a_kind_that_data_reads() {
        let sets = catalogue();
        let names: Vec<_> = sets.iter().map(|set| set.name.as_str()).collect();
        assert_eq!(
            names,
            ["cifar10", "mnist", "fashion-mnist", "svhn", "tiny-imagenet", "ptb", "wikitext-2"]
        );
        for set in &sets {
            assert!(
                format!("{}:data/{}", set.kind, set.name).parse::<crate::DataSpec>().is_ok(),
                "{}",
                set.name
            );
            for file in &set.files {
                assert!(
                    file.md5.len() == 32 && file.md5.chars().all(|c| c.is_ascii_hexdigit()),
                    "{}",
                    file.name
                );
                assert!(file.base.starts_with("http") && file.base.ends_with('/'), "{}", file.base);
            }
        }
        assert_eq!(sets[1].files.len(), 2);
    }
}
