//! Fetching data sets from a server on this machine.
#![allow(clippy::disallowed_methods, reason = "a test whose thread dies fails")]

#[path = "../../../tests/needed.rs"]
mod needed;

use flate2::{Compression, write::GzEncoder};
use foretell_nn::{ArchiveFiles, DataFetcher, DataSetDownload, Error, RemoteFile};
use sha2::{Digest, Sha256};
#[cfg(feature = "zip")]
use std::io::Cursor;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, Mutex};

/// A server of one file; gives its address and the byte at which each request began.
fn serve(name: &'static str, content: Vec<u8>) -> (String, Arc<Mutex<Vec<usize>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let starts = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&starts);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<String> = lines.map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
            if !head[0].starts_with(&format!("GET /{name} ")) {
                write!(stream, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").unwrap();
                continue;
            }
            let range = head.iter().find_map(|line| line.strip_prefix("Range: bytes="));
            let start: usize = range.map_or(0, |range| range.trim_end_matches('-').parse().unwrap());
            seen.lock().unwrap().push(start);
            let rest = &content[start..];
            let (status, last) =
                if start > 0 { ("206 Partial Content", content.len() - 1) } else { ("200 OK", 0) };
            let range = format!("Content-Range: bytes {start}-{last}/{}\r\n", content.len());
            let range = if start > 0 { range } else { String::new() };
            write!(stream, "HTTP/1.1 {status}\r\n{range}Content-Length: {}\r\n\r\n", rest.len()).unwrap();
            // curl may hang up before the end
            let _ = stream.write_all(rest);
        }
    });
    (address, starts)
}

fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn set(base: &str, name: &str, content: &[u8], archive: Option<ArchiveFiles>) -> DataSetDownload {
    let file = RemoteFile { base: base.to_owned(), name: name.to_owned(), sha256: sha256(content), archive };
    DataSetDownload { name: "set".to_owned(), kind: "text".to_owned(), files: vec![file] }
}

fn fetch(into: &Path) -> DataFetcher {
    DataFetcher { into: into.to_owned(), mirror: None, progress: false }
}

fn archive() -> ArchiveFiles {
    ArchiveFiles { root: "set-1/".to_owned(), members: vec!["part.".to_owned()] }
}

const MEMBERS: [(&str, &[u8]); 3] =
    [("set-1/part.train", b"to be or not"), ("set-1/part.valid", b"to be"), ("set-1/other", b"that is")];

fn tar_gz() -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, content) in MEMBERS {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        tar.append_data(&mut header, format!("./{name}"), content).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[cfg(feature = "zip")]
fn zip() -> Vec<u8> {
    let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in MEMBERS {
        zip.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

#[test]
fn a_file_is_fetched_once_and_an_interrupted_download_goes_on() {
    if !needed::has_program("curl", &["--version"]) {
        return;
    }
    let content: Vec<u8> = (0..100_000_u32).map(|i| (i.wrapping_mul(i) % 251) as u8).collect();
    let (address, starts) = serve("words.txt", content.clone());
    let set = set(&address, "words.txt", &content, None);
    let into = tempfile::tempdir().unwrap();
    let folder = into.path().join("set");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("words.txt.part"), &content[..40_000]).unwrap();
    assert_eq!(fetch(into.path()).fetch_data_set(&set).unwrap(), folder);
    assert_eq!(std::fs::read(folder.join("words.txt")).unwrap(), content);
    assert!(!folder.join("words.txt.part").exists());
    fetch(into.path()).fetch_data_set(&set).unwrap();
    assert_eq!(*starts.lock().unwrap(), [40_000], "the second time nothing is fetched");
    // a whole part is not asked for again
    std::fs::rename(folder.join("words.txt"), folder.join("words.txt.part")).unwrap();
    fetch(into.path()).fetch_data_set(&set).unwrap();
    assert_eq!(starts.lock().unwrap().len(), 1);
}

#[test]
fn archives_are_unpacked_without_their_root_and_removed() {
    if !needed::has_program("curl", &["--version"]) {
        return;
    }
    let archives = [
        ("set.tar.gz", tar_gz()),
        #[cfg(feature = "zip")]
        ("set.zip", zip()),
    ];
    for (name, content) in archives {
        let (address, starts) = serve(name, content.clone());
        let mut set = set("http://127.0.0.1:1/", name, &content, Some(archive()));
        let into = tempfile::tempdir().unwrap();
        let mirrored = DataFetcher { mirror: Some(address), ..fetch(into.path()) };
        let folder = mirrored.fetch_data_set(&set).unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["part.train", "part.valid"]);
        assert_eq!(std::fs::read(folder.join("part.train")).unwrap(), b"to be or not");
        let left: Vec<_> = std::fs::read_dir(into.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "the archive is gone");
        mirrored.fetch_data_set(&set).unwrap();
        assert_eq!(starts.lock().unwrap().len(), 1, "the second time nothing is fetched");
        // an archive without the expected files leaves no folder behind
        std::fs::remove_dir_all(&folder).unwrap();
        set.files[0].archive.as_mut().unwrap().root = "elsewhere/".to_owned();
        let error = mirrored.fetch_data_set(&set).unwrap_err().to_string();
        assert!(error.contains("cannot unpack") && error.contains("it contains no elsewhere/…"), "{error}");
        assert!(!folder.exists());
    }
}

#[cfg(not(feature = "zip"))]
#[test]
fn without_the_feature_an_archive_of_zip_is_refused_before_its_download() {
    let into = tempfile::tempdir().unwrap();
    let set = set("http://127.0.0.1:1/", "set.zip", b"", Some(archive()));
    let error = fetch(into.path()).fetch_data_set(&set).unwrap_err().to_string();
    assert!(error.contains("--features zip"), "{error}");
}

#[test]
fn another_file_than_the_published_one_is_refused() {
    if !needed::has_program("curl", &["--version"]) {
        return;
    }
    let (address, _) = serve("words.txt", b"not the words".to_vec());
    let into = tempfile::tempdir().unwrap();
    let error =
        fetch(into.path()).fetch_data_set(&set(&address, "words.txt", b"the words", None)).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("words.txt.part: the SHA-256 checksum") && error.contains("Delete it"), "{error}");
    assert!(!into.path().join("set/words.txt").exists());
}

#[test]
fn without_the_file_or_a_server_the_error_says_where_to_put_it() {
    if !needed::has_program("curl", &["--version"]) {
        return;
    }
    let (address, _) = serve("words.txt", b"the words".to_vec());
    for base in [address.as_str(), "http://127.0.0.1:1"] {
        let into = tempfile::tempdir().unwrap();
        let mut set = set(base, "words.txt", b"the words", None);
        set.files[0].name = "other.txt".to_owned();
        let error = fetch(into.path()).fetch_data_set(&set).unwrap_err();
        assert!(matches!(error, Error::Fetch { .. }), "{error}");
        let error = error.to_string();
        let place = into.path().join("set/other.txt");
        assert!(error.contains(&format!("put it at {}", place.display())), "{error}");
        assert!(error.contains(&format!("cannot fetch {base}/other.txt")), "{error}");
        // and there it is taken
        std::fs::write(&place, b"the words").unwrap();
        fetch(into.path()).fetch_data_set(&set).unwrap();
    }
}
