topic common
title A mode list may contain the common modes
block B
source0 K
add K default; add K m1
addcommon m1
perform B m9,common
run m1 0 no
run default 0 no
--- golden
run m1
block B mode=m1
ran m1 TIMEDOUT
run default
ran default TIMEDOUT
end
