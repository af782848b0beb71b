topic seconds
title The limit
flags timing
slow 2
source0 K
add K default
run default 0.11 no stamp
--- golden
run default
ran default TIMEDOUT at=100
end
