topic mainq
title Served in a custom common mode
thread main:
block M
source0 K
add K m1; addcommon m1
async M
run m1 0.05 no
--- golden
run m1
mainq M mode=m1
ran m1 TIMEDOUT
end
