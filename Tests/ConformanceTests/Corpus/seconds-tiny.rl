topic seconds
title A tiny limit
trace callouts
source0 K
add K default
run default 0.000001 no
--- golden
run default
ran default TIMEDOUT
end
