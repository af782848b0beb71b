topic mainq
title A worker's loop does not serve the main queue
slow 2
block M
source0 K
at 20: async M
add K default
run default 0.06 no
count M
--- golden
run default
ran default TIMEDOUT
count M = 0
end
