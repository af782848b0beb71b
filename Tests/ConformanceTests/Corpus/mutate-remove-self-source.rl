topic mutate
title A source removes itself in its callback
source0 S sched
source0 K
on S: remove S default; contains S default
add S default; add K default; signal S
run default 0.03 no
--- golden
schedule S mode=default loop=A
run default
source0 S mode=default
cancel S mode=default loop=A
contains S default = no
ran default TIMEDOUT
end
