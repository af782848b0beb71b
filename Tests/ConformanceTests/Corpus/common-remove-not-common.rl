topic common
title Removing a never-common item from the common modes does nothing
source0 S sched
add S default
remove S common
contains S default
--- golden
schedule S mode=default loop=A
contains S default = yes
end
