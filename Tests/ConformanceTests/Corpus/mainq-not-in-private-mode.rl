topic mainq
title Not served in a mode that is not common
thread main:
block M
source0 K
add K m1
async M
run m1 0.05 no
run default 0.05 no
--- golden
run m1
ran m1 TIMEDOUT
run default
mainq M mode=default
ran default TIMEDOUT
end
