topic life
title The mode keeps the source alive
source0 S ctx sched
source0 K
add S default; add K default; drop S
note dropped
run default 0.02 no
--- golden
retain S
schedule S mode=default loop=A
note dropped
run default
ran default TIMEDOUT
end
