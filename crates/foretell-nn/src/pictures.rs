//! Pictures from JPEG and PNG files, brought to a square of any size.

use crate::error::Error;
use png::{ColorType, Transformations};
use std::io::Cursor;
use std::path::Path;
use zune_core::{bytestream::ZCursor, colorspace::ColorSpace, options::DecoderOptions};
use zune_jpeg::JpegDecoder;

/// The bytes with which every PNG file begins.
const PNG_SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";

/// Whether the name of a file is that of a picture.
pub(crate) fn is_picture(path: &Path) -> bool {
    let known =
        |ending: &std::ffi::OsStr| ["jpg", "jpeg", "png"].iter().any(|e| ending.eq_ignore_ascii_case(e));
    path.extension().is_some_and(known)
}

/// A picture: red, green and blue of pixel after pixel, row after row.
pub(crate) struct RgbPicture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

/// Reads a JPEG or PNG file, told apart by their content. Gray is seen as color; transparency is not seen.
pub(crate) fn read(path: &Path) -> Result<RgbPicture, Error> {
    let bytes = std::fs::read(path).map_err(|error| Error::read(path, error))?;
    let picture = if bytes.starts_with(PNG_SIGNATURE) { read_png(&bytes) } else { read_jpeg(bytes) };
    let picture = picture.map_err(|reason| Error::Picture { path: path.to_owned(), reason })?;
    match picture.width.min(picture.height) {
        0 => Err(Error::Picture { path: path.to_owned(), reason: "it contains no pixels".to_owned() }),
        _ => Ok(picture),
    }
}

fn read_jpeg(bytes: Vec<u8>) -> Result<RgbPicture, String> {
    let options = DecoderOptions::default().jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let pixels = decoder.decode().map_err(|error| error.to_string())?;
    let (width, height) = decoder.dimensions().ok_or("its size is missing")?;
    Ok(RgbPicture { width, height, pixels })
}

fn read_png(bytes: &[u8]) -> Result<RgbPicture, String> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(|error| error.to_string())?;
    let mut values = vec![0; reader.output_buffer_size().ok_or("it is too large")?];
    let frame = reader.next_frame(&mut values).map_err(|error| error.to_string())?;
    let values = &values[..frame.buffer_size()];
    let pixels = match frame.color_type {
        ColorType::Rgb => values.to_vec(),
        ColorType::Rgba => values.chunks_exact(4).flat_map(|pixel| &pixel[..3]).copied().collect(),
        ColorType::Grayscale => values.iter().flat_map(|&gray| [gray; 3]).collect(),
        ColorType::GrayscaleAlpha => values.chunks_exact(2).flat_map(|pixel| [pixel[0]; 3]).collect(),
        ColorType::Indexed => return Err("its palette is missing".to_owned()),
    };
    Ok(RgbPicture { width: frame.width as usize, height: frame.height as usize, pixels })
}

impl RgbPicture {
    /// The middle square at `side` × `side` pixels, channel by channel. A value is the mean over the area that its pixel covers in
    /// the square.
    pub(crate) fn square(&self, side: usize) -> Vec<u8> {
        let square = self.width.min(self.height);
        let (left, top) = ((self.width - square) / 2, (self.height - square) / 2);
        let covered: Vec<Vec<(usize, f64)>> =
            (0..side).map(|place| covered_pixels(place, side, square)).collect();
        let mut values = Vec::with_capacity(3 * side * side);
        for (channel, row) in (0..3).flat_map(|channel| (0..side).map(move |row| (channel, row))) {
            for column in 0..side {
                let (mut sum, mut area) = (0.0, 0.0);
                for (y, high) in &covered[row] {
                    for (x, wide) in &covered[column] {
                        let at = 3 * ((top + y) * self.width + left + x) + channel;
                        sum += high * wide * f64::from(self.pixels[at]);
                        area += high * wide;
                    }
                }
                values.push((sum / area + 0.5) as u8);
            }
        }
        values
    }
}

/// The pixels of a line of `from` pixels that pixel `place` of a line of `to` covers, each with its share.
fn covered_pixels(place: usize, to: usize, from: usize) -> Vec<(usize, f64)> {
    let (start, end) = (place * from, (place + 1) * from);
    (start / to..end.div_ceil(to))
        .map(|pixel| (pixel, (((pixel + 1) * to).min(end) - (pixel * to).max(start)) as f64))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A row of gray pixels.
    fn row(values: &[u8]) -> RgbPicture {
        let pixels = values.iter().flat_map(|&value| [value, value + 1, value + 2]).collect();
        RgbPicture { width: values.len(), height: 1, pixels }
    }

    fn png(color: ColorType, values: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, 2, 1);
        encoder.set_color(color);
        encoder.write_header().unwrap().write_image_data(values).unwrap();
        bytes
    }

    #[test]
    fn pixels_are_means_of_what_they_cover_in_the_middle_square() {
        assert_eq!(row(&[9, 40, 9]).square(1), [40, 41, 42]);
        assert_eq!(covered_pixels(0, 2, 4), [(0, 2.0), (1, 2.0)]);
        // of three pixels, the first of two covers one and a half
        assert_eq!(covered_pixels(0, 2, 3), [(0, 2.0), (1, 1.0)]);
        assert_eq!(covered_pixels(1, 2, 3), [(1, 1.0), (2, 2.0)]);
        // one pixel becomes four
        assert_eq!(row(&[5]).square(2), [5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7]);
        let four =
            RgbPicture { width: 2, height: 2, pixels: vec![0, 0, 0, 10, 20, 40, 10, 20, 40, 20, 40, 81] };
        assert_eq!(four.square(1), [10, 20, 40]);
    }

    #[test]
    fn png_files_of_every_color_type_become_red_green_and_blue() {
        for (color, values) in
            [(ColorType::Rgb, &[1, 2, 3, 4, 5, 6][..]), (ColorType::Rgba, &[1, 2, 3, 0, 4, 5, 6, 255])]
        {
            let picture = read_png(&png(color, values)).unwrap();
            assert_eq!((picture.width, picture.height, picture.pixels), (2, 1, vec![1, 2, 3, 4, 5, 6]));
        }
        for (color, values) in
            [(ColorType::Grayscale, &[7, 8][..]), (ColorType::GrayscaleAlpha, &[7, 0, 8, 9])]
        {
            assert_eq!(read_png(&png(color, values)).unwrap().pixels, [7, 7, 7, 8, 8, 8]);
        }
        let cut = png(ColorType::Rgb, &[0; 6]);
        assert!(read_png(&cut[..cut.len() - 20]).is_err());
    }
}
