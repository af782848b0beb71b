#pragma once
// Nothing for C: QtShell includes the headers of Qt. This module brings their folders and the libraries.
