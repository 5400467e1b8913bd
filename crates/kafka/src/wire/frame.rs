//! Frames: a length, a header, a message.

use bytes::Bytes;

use super::{CodecError, Decode, Encode, VersionRange, WireReader, WireVersion, WireWriter};

/// A message that asks a broker for something.
pub trait ApiRequest: Encode {
    /// The answer.
    type Answer: Decode;
    /// The number of the API.
    const KEY: i16;
    /// The name of the API, as people know it.
    const NAME: &'static str;
    /// The versions that its tables know.
    const VERSIONS: VersionRange;
    /// The first flexible version; `i16::MAX` where there is none.
    const FLEXIBLE_SINCE: i16;
    /// The oldest version that is used.
    const OLDEST: i16;
    /// The most bytes that an answer may have.
    const MOST_BYTES: usize;

    /// A version of the message.
    #[must_use]
    fn version(number: i16) -> WireVersion {
        WireVersion { number, flexible: number >= Self::FLEXIBLE_SINCE }
    }
}

/// The API whose answers never have a flexible header: a client must read them before it knows what it speaks to.
const API_VERSIONS: i16 = 18;

fn has_tags_before_the_answer<R: ApiRequest>(version: WireVersion) -> bool {
    version.flexible && R::KEY != API_VERSIONS
}

/// The bytes of `request` in `version`, with the length and the header in front.
///
/// # Errors
/// [`CodecError`] where the version can't say it.
pub fn request_frame<R: ApiRequest>(
    request: &R,
    version: i16,
    correlation: i32,
    client_id: &str,
) -> Result<Vec<u8>, CodecError> {
    let version = R::version(version);
    let mut writer = WireWriter::default();
    R::KEY.encode(&mut writer, version)?;
    version.number.encode(&mut writer, version)?;
    correlation.encode(&mut writer, version)?;
    // The client id has a length of 16 bits in every version of the header.
    writer.text(Some(client_id), WireVersion { flexible: false, ..version })?;
    if version.flexible {
        writer.unsigned_varint(0);
    }
    request.encode(&mut writer, version)?;
    with_length(writer)
}

fn with_length(writer: WireWriter) -> Result<Vec<u8>, CodecError> {
    let body = writer.into_bytes();
    let length = i32::try_from(body.len()).map_err(|_| CodecError::TooLong)?;
    Ok([&length.to_be_bytes()[..], &body].concat())
}

/// The answer in `frame`, which is without its length.
///
/// # Errors
/// [`CodecError`] where it is none, answers another request, or is followed by more bytes.
pub fn read_answer<R: ApiRequest>(
    frame: &Bytes,
    version: i16,
    correlation: i32,
) -> Result<R::Answer, CodecError> {
    let version = R::version(version);
    let mut reader = WireReader::new(frame);
    let answered = i32::decode(&mut reader, version)?;
    if answered != correlation {
        return Err(CodecError::Correlation { asked: correlation, answered });
    }
    if has_tags_before_the_answer::<R>(version) {
        reader.tags(|_, _| Ok(false))?;
    }
    let answer = R::Answer::decode(&mut reader, version)?;
    reader.finish()?;
    Ok(answer)
}

/// The header of a request.
#[cfg(any(test, feature = "testing"))]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeader {
    /// The number of the API.
    pub key: i16,
    /// The version of the message.
    pub version: i16,
    /// The number of the request.
    pub correlation: i32,
    /// The name that the client gives itself.
    pub client_id: Option<String>,
}

#[cfg(any(test, feature = "testing"))]
impl RequestHeader {
    /// Reads the part of a header that every version has.
    ///
    /// # Errors
    /// [`CodecError`] where there is none.
    pub fn read(reader: &mut WireReader<'_>) -> Result<Self, CodecError> {
        let version = WireVersion { number: 1, flexible: false };
        Ok(Self {
            key: Decode::decode(reader, version)?,
            version: Decode::decode(reader, version)?,
            correlation: Decode::decode(reader, version)?,
            client_id: Decode::decode(reader, version)?,
        })
    }
}

/// The request in `frame`, which is without its length.
///
/// # Errors
/// [`CodecError`] where it is none.
#[cfg(any(test, feature = "testing"))]
pub fn read_request<R: ApiRequest + Decode>(frame: &Bytes) -> Result<(RequestHeader, R), CodecError> {
    let mut reader = WireReader::new(frame);
    let header = RequestHeader::read(&mut reader)?;
    let version = R::version(header.version);
    if version.flexible {
        reader.tags(|_, _| Ok(false))?;
    }
    let request = R::decode(&mut reader, version)?;
    reader.finish()?;
    Ok((header, request))
}

/// The bytes of an answer in `version`, with the length and the header in front.
///
/// # Errors
/// [`CodecError`] where the version can't say it.
#[cfg(any(test, feature = "testing"))]
pub fn answer_frame<R: ApiRequest>(
    answer: &R::Answer,
    version: i16,
    correlation: i32,
) -> Result<Vec<u8>, CodecError>
where
    R::Answer: Encode,
{
    let version = R::version(version);
    let mut writer = WireWriter::default();
    correlation.encode(&mut writer, version)?;
    if has_tags_before_the_answer::<R>(version) {
        writer.unsigned_varint(0);
    }
    answer.encode(&mut writer, version)?;
    with_length(writer)
}
