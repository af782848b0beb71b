topic common
title Making a mode common twice changes nothing
source0 S sched
add S common
addcommon m1; addcommon m1
contains S m1
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
contains S m1 = yes
end
