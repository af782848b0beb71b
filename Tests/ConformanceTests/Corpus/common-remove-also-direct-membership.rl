topic common
title Removal from common modes also takes away a direct membership of a common mode
source0 S sched
add S default; add S common
remove S common
contains S default
--- golden
schedule S mode=default loop=A
cancel S mode=default loop=A
contains S default = no
end
