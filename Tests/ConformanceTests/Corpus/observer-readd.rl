topic observer
title Removing and adding again puts it behind those of equal order
observer A entry
observer B entry
source0 S
add A default; add B default; add S default
remove A default; add A default
run default 0.02 no
--- golden
run default
observer B entry mode=default
observer A entry mode=default
ran default TIMEDOUT
end
