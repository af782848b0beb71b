topic dup
title Added directly and as a common item
observer O entry
source0 S sched
add O default; add O common; add S default; add S common
run default 0.02 no
--- golden
schedule S mode=default loop=A
run default
observer O entry mode=default
ran default TIMEDOUT
end
