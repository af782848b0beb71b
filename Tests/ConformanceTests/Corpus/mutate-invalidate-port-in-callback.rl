topic mutate
title A port invalidates itself in its callback
source1 P ctx
source0 K
on P: invalidate P; valid P
add P default; add K default; write P
run default 0.03 no
--- golden
retain P
run default
source1 P mode=default
valid P = no
ran default TIMEDOUT
end
