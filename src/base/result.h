// The project's one Result type is part of the public interface; inside it is known by this name.
//
// Two types, an inner and a public one, were rejected: every function at the edge would only convert.
#pragma once

#include "stepscope/result.h"
