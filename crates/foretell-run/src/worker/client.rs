//! A client of the HTTP interface: one connection that is kept, JSON in and out.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use serde_json::Value;

use crate::access::Access;

/// How long connecting, and each answer, may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest answer.
const LONGEST: u64 = 64 << 20;

/// Why a request was not answered as it should.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The server is not there, or cannot answer now: send the same again.
    Away(String),
    /// The server refuses, and will again.
    Refused {
        status: u16,
        text: String,
        /// What of the request is wrong.
        field: Option<String>,
    },
}

/// A connection to the server.
pub(crate) struct Client {
    access: Access,
    connection: Option<BufReader<TcpStream>>,
}

impl Client {
    pub(crate) fn new(access: Access) -> Self {
        Self { access, connection: None }
    }

    /// Sends a request.
    pub(crate) fn call(&mut self, method: &str, path: &str, body: &Value) -> Result<Value, Trouble> {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let answered = self.exchange(method, path, &text);
        let trouble = match answered {
            Ok((status, text)) => match judged(status, &text) {
                Ok(answer) => return Ok(answer),
                Err(trouble) => trouble,
            },
            Err(error) => {
                self.connection = None;
                Trouble::Away(format!("{}: {error}", self.access.addresses.join(", ")))
            }
        };
        let may_have_moved = matches!(trouble, Trouble::Away(_) | Trouble::Refused { status: 401 | 403, .. });
        if may_have_moved && let Some(now) = self.access.again() {
            self.access = now;
            self.connection = None;
            return Err(Trouble::Away("the server has moved".to_owned()));
        }
        Err(trouble)
    }

    /// Sends a request over the connection that is there, or a new one if that has ended meanwhile.
    fn exchange(&mut self, method: &str, path: &str, body: &str) -> io::Result<(u16, Vec<u8>)> {
        if let Some(connection) = self.connection.take()
            && let Ok(answer) = self.exchange_over(connection, method, path, body)
        {
            return Ok(answer);
        }
        let connection = BufReader::new(connect(&self.access.addresses)?);
        self.exchange_over(connection, method, path, body)
    }

    fn exchange_over(
        &mut self,
        mut connection: BufReader<TcpStream>,
        method: &str,
        path: &str,
        body: &str,
    ) -> io::Result<(u16, Vec<u8>)> {
        let host = self.access.addresses.first().map_or("", String::as_str);
        let token = self.access.token.as_ref();
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{token}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        );
        connection.get_mut().write_all(request.as_bytes())?;
        let (status, is_kept, body) = answer(&mut connection)?;
        if is_kept {
            self.connection = Some(connection);
        }
        Ok((status, body))
    }
}

fn connect(places: &[String]) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::InvalidInput, "no address");
    for place in places {
        let resolved = place.to_socket_addrs();
        let addresses = match resolved {
            Ok(addresses) => addresses,
            Err(error) => {
                last = error;
                continue;
            }
        };
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE / 3) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    stream.set_write_timeout(Some(PATIENCE))?;
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
    }
    Err(last)
}

/// Reads an answer: its status, whether the connection is kept, and its body.
fn answer(connection: &mut impl BufRead) -> io::Result<(u16, bool, Vec<u8>)> {
    let broken = |what: &str| io::Error::new(io::ErrorKind::InvalidData, format!("no HTTP answer: {what}"));
    let first = line(connection)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status: u16 = status.ok_or_else(|| broken("no status"))?;
    let (mut length, mut is_chunked, mut is_kept) = (None, false, first.starts_with("HTTP/1.1"));
    loop {
        let header = line(connection)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| broken("a line is no header"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = Some(value.parse::<u64>().map_err(|_| broken("its length"))?),
            "transfer-encoding" => is_chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => is_kept = is_kept && !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match length {
        _ if is_chunked => chunks(connection, &mut body)?,
        Some(length) if length <= LONGEST => exactly(connection, length, &mut body)?,
        Some(_) => return Err(broken("it is too long")),
        None => {
            is_kept = false;
            connection.take(LONGEST).read_to_end(&mut body)?;
        }
    }
    Ok((status, is_kept, body))
}

fn exactly(connection: &mut impl BufRead, length: u64, body: &mut Vec<u8>) -> io::Result<()> {
    let read = connection.take(length).read_to_end(body)? as u64;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

fn chunks(connection: &mut impl BufRead, body: &mut Vec<u8>) -> io::Result<()> {
    loop {
        let head = line(connection)?;
        let size = u64::from_str_radix(head.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a chunk has no length"))?;
        if size + body.len() as u64 > LONGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the answer is too long"));
        }
        exactly(connection, size, body)?;
        line(connection)?;
        if size == 0 {
            return Ok(());
        }
    }
}

/// A line without its end.
fn line(connection: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    connection.take(1 << 16).read_until(b'\n', &mut bytes)?;
    if bytes.pop() != Some(b'\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(text.trim_end_matches('\r').to_owned())
}

fn judged(status: u16, body: &[u8]) -> Result<Value, Trouble> {
    let answer: Option<Value> = serde_json::from_slice(body).ok();
    let said = |answer: &Value| answer["error"].as_str().map(str::to_owned);
    match (status, answer) {
        (200..=299, Some(answer)) => Ok(answer),
        (200..=299, None) => Err(Trouble::Away("what answers there is no Foretell server".to_owned())),
        (408 | 429 | 500.., answer) => {
            let text = answer.as_ref().and_then(said);
            Err(Trouble::Away(text.unwrap_or_else(|| format!("the server answers {status}"))))
        }
        (_, answer) => {
            let answer = answer.unwrap_or_default();
            let text = said(&answer).unwrap_or_else(|| format!("the server answers {status}"));
            Err(Trouble::Refused { status, text, field: answer["field"].as_str().map(str::to_owned) })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Trouble, answer, judged};

    #[test]
    fn answers_are_read_by_length_by_chunks_and_to_the_end() {
        let cases = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}rest", 200, true, "{}"),
            ("HTTP/1.1 409 Conflict\r\ncontent-length: 0\r\nConnection: close\r\n\r\n", 409, false, ""),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n",
                200,
                true,
                "{\"a\":1}",
            ),
            ("HTTP/1.0 200 OK\r\n\r\nall of it", 200, false, "all of it"),
        ];
        for (text, status, is_kept, body) in cases {
            let read = answer(&mut text.as_bytes()).expect("an answer");
            assert_eq!(read, (status, is_kept, body.as_bytes().to_vec()), "{text}");
        }
    }

    #[test]
    fn what_is_cut_off_or_no_http_is_an_error() {
        let cases = [
            "",
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}",
            "SSH-2.0-OpenSSH\r\n\r\n",
            "HTTP/1.1 200 OK\r\n",
        ];
        for text in cases {
            assert!(answer(&mut text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_that_cannot_answer_now_is_away_and_one_that_refuses_is_not() {
        let is_away = |status, body: &[u8]| matches!(judged(status, body), Err(Trouble::Away(_)));
        assert!(is_away(503, b"{}") && is_away(502, b"<html>") && is_away(200, b"<html>"));
        assert!(!is_away(409, b"{\"error\": \"no\", \"field\": \"lease\"}") && !is_away(401, b""));
        assert!(judged(200, b"{}").is_ok());
    }
}
