// The numbers that say which libsoma this is. The Makefile reads them from here.
#pragma once

#define SOMA_VERSION_STRING "0.1.0"
