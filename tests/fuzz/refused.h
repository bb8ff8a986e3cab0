// What a reader may do with bad input: take it, or refuse it in words that the programs print. Whatever else
// it throws is a fault, which ends the fuzzer.
#pragma once

#include "results/error.h"
#include "results/json.h"

namespace ampgate::fuzz {

template <typename Read>
void allow_refusal(Read read) {
  try {
    read();
  } catch (const results::Error&) {
  } catch (const results::Json::exception&) {  // "a file holds what it should not"
  }
}

}  // namespace ampgate::fuzz
