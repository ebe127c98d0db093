/* SPDX-License-Identifier: MIT */
/* openapi.h - the description of the API (openapi.json), as it is built into the binary. */
#ifndef TOCSIN_SERVER_OPENAPI_H
#define TOCSIN_SERVER_OPENAPI_H

#include "base/bytes.h"

struct bytes openapi_text(void);

#endif
