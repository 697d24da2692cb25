// Nothing to compile: the target of this file carries the precompiled header (Targets.cmake).
