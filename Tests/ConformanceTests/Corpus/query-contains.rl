topic query
title contains for each kind and mode
source0 S
source1 P
timer T delay=1000
observer O all
contains S default; contains P default; contains T default; contains O default; contains S nothing; contains T common
add S default; add P m1; add T common; add O common
contains S default; contains P default; contains P m1; contains T default; contains T common; contains O default; contains O common; contains S common
--- golden
contains S default = no
contains P default = no
contains T default = no
contains O default = no
contains S nothing = no
contains T common = no
contains S default = yes
contains P default = no
contains P m1 = yes
contains T default = yes
contains T common = yes
contains O default = yes
contains O common = yes
contains S common = no
end
