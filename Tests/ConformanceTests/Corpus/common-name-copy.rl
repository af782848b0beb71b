topic common
title A string equal to the common-modes name but another object is taken as an ordinary mode by add
flags linux-bug
source0 S sched
add S common-copy
contains S common; contains S common-copy; contains S default
modes
--- golden
schedule S mode=common loop=A
contains S common = no
contains S common-copy = yes
contains S default = no
modes = common,default
end
--- right
schedule S mode=default loop=A
contains S common = yes
contains S common-copy = yes
contains S default = yes
modes = default
end
