topic source1
title An invalidated port source is gone
trace callouts
source1 P
source0 K
add K default; add P default; write P
invalidate P
valid P; contains P default
run default 0.03 no
--- golden
valid P = no
contains P default = no
run default
ran default TIMEDOUT
end
