#pragma once
#include <glib-unix.h>
