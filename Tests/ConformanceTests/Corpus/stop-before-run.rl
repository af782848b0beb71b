topic stop
title A stop while the loop is not running is forgotten
source0 K
add K default
stop
run default 0.03 no
--- golden
run default
ran default TIMEDOUT
end
