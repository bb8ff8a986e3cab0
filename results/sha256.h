// SHA-256 of files, rules, plans and records. It detects accidents, not forgery.
#pragma once

#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's

namespace ampgate::results {

// The digest of bytes that come in pieces. `finish` once, at the end: 64 lower-case hexadecimal digits.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  std::string finish();

 private:
  std::unique_ptr<evp_md_ctx_st, void (*)(evp_md_ctx_st*)> context_;
};

std::string sha256_hex(std::string_view bytes);

// The same for a file's bytes, read in pieces. Throws FileError.
std::string sha256_file(const std::string& path);

// A document that holds its own digest: the SHA-256 of `text` with the first occurrence of `digest_in_text`
// (64 digits) replaced by zeros. Write the document with 64 zeros first, then put own_digest(text, zeros) in
// their place. Throws std::invalid_argument when `digest_in_text` is not 64 digits that stand in `text`.
std::string own_digest(std::string_view text, std::string_view digest_in_text);

}  // namespace ampgate::results
