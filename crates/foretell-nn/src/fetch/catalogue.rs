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

impl RemoteFile {
    fn new(base: &str, name: &str, md5: &str) -> Self {
        Self { base: base.to_owned(), name: name.to_owned(), md5: md5.to_owned(), archive: None }
    }

    fn archive(self, root: &str, members: &[&str]) -> Self {
        let members = members.iter().map(|&member| member.to_owned()).collect();
        Self { archive: Some(Archive { root: root.to_owned(), members }), ..self }
    }
}

/// All data sets that can be fetched.
///
/// MNIST's own address answers no more: its files come from where PyTorch keeps them. WikiText-2 is where its author keeps it.
pub fn catalogue() -> Vec<Download> {
    let set =
        |name: &str, kind: &str, files| Download { name: name.to_owned(), kind: kind.to_owned(), files };
    let idx = |base: &str, images: &str, labels: &str| {
        vec![
            RemoteFile::new(base, "train-images-idx3-ubyte.gz", images),
            RemoteFile::new(base, "train-labels-idx1-ubyte.gz", labels),
        ]
    };
    let one = |base, name, md5, root, members| vec![RemoteFile::new(base, name, md5).archive(root, members)];
    vec![
        set(
            "cifar10",
            "cifar10",
            one(
                "https://www.cs.toronto.edu/~kriz/",
                "cifar-10-binary.tar.gz",
                "c32a1d4ab5d03f1284b67883e8d87530",
                "cifar-10-batches-bin/",
                &[],
            ),
        ),
        set(
            "mnist",
            "mnist",
            idx(
                "https://ossci-datasets.s3.amazonaws.com/mnist/",
                "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                "d53e105ee54ea40749a09fcbcd1e9432",
            ),
        ),
        set(
            "fashion-mnist",
            "fashion-mnist",
            idx(
                "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
                "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
                "25c81989df183df01b3e8a0aad5dffbe",
            ),
        ),
        set(
            "svhn",
            "svhn",
            vec![RemoteFile::new(
                "http://ufldl.stanford.edu/housenumbers/",
                "train_32x32.mat",
                "e26dedcc434d2e4c54c9b2d4a06d8373",
            )],
        ),
        set(
            "tiny-imagenet",
            "tiny-imagenet",
            one(
                "http://cs231n.stanford.edu/",
                "tiny-imagenet-200.zip",
                "90528d7ca1a48142e341f4ef8d21d0de",
                "tiny-imagenet-200/",
                &["train/"],
            ),
        ),
        set(
            "ptb",
            "text",
            one(
                "http://www.fit.vutbr.cz/~imikolov/rnnlm/",
                "simple-examples.tgz",
                "30177ea32e27c525793142b6bf2c8e2d",
                "simple-examples/data/",
                &["ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"],
            ),
        ),
        set(
            "wikitext-2",
            "text",
            one(
                "https://wikitext.smerity.com/",
                "wikitext-2-v1.zip",
                "542ccefacc6c27f945fb54453812b3cd",
                "wikitext-2/",
                &[],
            ),
        ),
    ]
}
