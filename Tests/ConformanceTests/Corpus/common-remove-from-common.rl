topic common
title Removing from common modes removes from each of them
source0 S sched
addcommon m1
add S common
remove S common
contains S common; contains S default; contains S m1
run m1 1 no
--- golden
schedule S mode=default loop=A
schedule S mode=m1 loop=A
cancel S mode=default loop=A
cancel S mode=m1 loop=A
contains S common = no
contains S default = no
contains S m1 = no
run m1
ran m1 FINISHED
end
