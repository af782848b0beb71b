topic common
title Adding to common modes again restores the missing membership, without a second schedule elsewhere
source0 S sched
addcommon m1
add S common
remove S default
add S common
contains S default
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
cancel S mode=default loop=A
schedule S mode=default loop=A
contains S default = yes
end
