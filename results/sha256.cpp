#include "results/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "results/error.h"

namespace ampgate::results {
namespace {

constexpr std::size_t kDigits = 64;

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL has no SHA-256");
  }
}

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) {
    throw std::runtime_error("SHA-256 failed");
  }
}

std::string Sha256::finish() {
  std::array<unsigned char, kDigits / 2> digest;
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 failed");
  }
  std::string text;
  text.reserve(kDigits);
  for (const unsigned char byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hasher;
  hasher.update(bytes);
  return hasher.finish();
}

std::string sha256_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Sha256 hasher;
  std::vector<char> piece(1 << 20);
  while (file) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    hasher.update({piece.data(), static_cast<std::size_t>(file.gcount())});
  }
  if (!file.eof()) throw FileError(path, std::strerror(errno), "Give a file that exists and can be read.");
  return hasher.finish();
}

std::string own_digest(std::string_view text, std::string_view digest_in_text) {
  const auto position = text.find(digest_in_text);
  const bool digits = digest_in_text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (digest_in_text.size() != kDigits || !digits || position == std::string_view::npos) {
    throw std::invalid_argument("'" + std::string(digest_in_text) +
                                "' is not a digest that stands in the text");
  }
  Sha256 hasher;
  hasher.update(text.substr(0, position));
  hasher.update(std::string(kDigits, '0'));
  hasher.update(text.substr(position + kDigits));
  return hasher.finish();
}

}  // namespace ampgate::results
