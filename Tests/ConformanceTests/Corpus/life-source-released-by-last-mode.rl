topic life
title A source held by its mode only, alive through its callback
source0 S ctx sched
source0 K
on S: note in-callback
add S default; add K default; signal S; drop S
run default 0.02 no
--- golden
retain S
schedule S mode=default loop=A
run default
source0 S mode=default
note in-callback
ran default TIMEDOUT
end
