// Carries the precompiled header; holds nothing itself.
