/* SPDX-License-Identifier: MIT */
/* version.h - which version is this? The build says it. */
#ifndef TOCSIN_CLI_VERSION_H
#define TOCSIN_CLI_VERSION_H

#ifndef TOCSIN_VERSION
#define TOCSIN_VERSION "dev"
#endif

#endif
